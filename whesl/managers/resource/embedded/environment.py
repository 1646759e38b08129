"""Environment variables of jobs, steps and tasks, and the names of their output files."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence

from whesl.managers.resource.embedded.scheduler.job_and_node_records import Job, Settings, Step
from whesl.managers.resource.slurm.job_variables_of_nodes_in_use import compress_counts
from whesl.model.hostlist import compress

CLUSTER = "WHESL_LOCAL_CLUSTER"
NODE = "WHESL_LOCAL_NODE"
STEP = "WHESL_LOCAL_STEP"
STORAGE = "WHESL_NODE_STORAGE"
NO_ARRAY_TASK = 4294967294  # Slurm's NO_VAL: the value of %a outside arrays
_PATTERN = re.compile(r"%(\d*)([%AaJjNnstux])")
# Prefixes of variables that describe an enclosing job and must not reach a job submitted from it.
_OWN = (
    "SLURM_JOB",
    "SLURM_HET",
    "SLURM_STEP",
    "SLURM_ARRAY",
    "SLURM_NODE",
    "SLURM_TASK",
    "SLURM_CPUS",
    "SLURM_NTASKS",
    "SLURM_NPROCS",
    "SLURM_NNODES",
    "SLURM_PROCID",
    "SLURM_LOCALID",
    "SLURM_GTIDS",
    "SLURM_RESTART_COUNT",
    "SLURM_DISTRIBUTION",
    "SLURM_SUBMIT",
    "SLURM_CLUSTER_NAME",
    "SLURMD_",
    NODE,
    STEP,
    STORAGE,
)


def cleaned(environ: Mapping[str, str]) -> dict[str, str]:
    """Return an environment without the variables of an enclosing job."""
    return {name: value for name, value in environ.items() if not name.startswith(_OWN)}


def node_set(nodes: Sequence[str], cpus: Sequence[int], tasks: Sequence[int]) -> dict[str, str]:
    """Return the variables that describe a set of nodes as a job's allocation.

    Args:
        nodes: names of the nodes.
        cpus: number of CPUs on each node, in the same order.
        tasks: number of tasks on each node, in the same order.
    """
    listed = compress(nodes)
    return {
        "SLURM_JOB_NODELIST": listed,
        "SLURM_NODELIST": listed,
        "SLURM_JOB_NUM_NODES": str(len(nodes)),
        "SLURM_NNODES": str(len(nodes)),
        "SLURM_JOB_CPUS_PER_NODE": compress_counts(cpus),
        "SLURM_TASKS_PER_NODE": compress_counts(tasks),
    }


def of_job(settings: Settings, directory: str, job: Job, base: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a job's script.

    Args:
        settings: the cluster's settings.
        directory: the cluster's directory.
        job: a job with an allocation.
        base: the environment that was submitted with the job.
    """
    spec = job.spec
    cpus = [share.cpus for share in job.shares]
    tasks = [share.tasks for share in job.shares]
    result = cleaned(base)
    result |= node_set(job.nodes, cpus, tasks)
    result |= {
        "SLURM_JOB_ID": str(job.id),
        "SLURM_JOBID": str(job.id),
        "SLURM_JOB_NAME": spec.name,
        "SLURM_JOB_PARTITION": job.partition,
        "SLURM_JOB_USER": spec.user,
        "SLURM_JOB_UID": str(spec.uid),
        "SLURM_JOB_GID": str(spec.gid),
        "SLURM_JOB_START_TIME": str(int(job.started)),
        "SLURM_CLUSTER_NAME": settings.name,
        "SLURM_SUBMIT_DIR": spec.workdir,
        "SLURM_SUBMIT_HOST": spec.submit_host,
        "SLURM_CPUS_ON_NODE": str(cpus[0]),
        "SLURM_NODEID": "0",
        "SLURM_PROCID": "0",
        "SLURM_LOCALID": "0",
        "SLURM_GTIDS": "0",
        "WHESL_LOCAL": directory,
        CLUSTER: directory,
        STEP: f"{job.id}.{job.restarts}.batch",
    }
    if spec.account:
        result["SLURM_JOB_ACCOUNT"] = spec.account
    if spec.tasks is not None or spec.tasks_per_node is not None:
        result["SLURM_NTASKS"] = result["SLURM_NPROCS"] = str(sum(tasks))
    if spec.tasks_per_node is not None:
        result["SLURM_NTASKS_PER_NODE"] = str(spec.tasks_per_node)
    if spec.cpus_per_task > 1:
        result["SLURM_CPUS_PER_TASK"] = str(spec.cpus_per_task)
    if job.time_limit is not None:
        result["SLURM_JOB_END_TIME"] = str(int(job.started + job.time_limit))
    if job.restarts:
        result["SLURM_RESTART_COUNT"] = str(job.restarts)
    if job.array_task is not None:
        result |= {
            "SLURM_ARRAY_JOB_ID": str(job.array_job),
            "SLURM_ARRAY_TASK_ID": str(job.array_task),
            "SLURM_ARRAY_TASK_COUNT": str(job.array[0]),
            "SLURM_ARRAY_TASK_MIN": str(job.array[1]),
            "SLURM_ARRAY_TASK_MAX": str(job.array[2]),
        }
    commands = os.path.join(directory, "bin")  # noqa: PTH118  # pathlib slows each command's start
    path = result.get("PATH", os.defpath)
    if commands not in path.split(os.pathsep):
        result["PATH"] = commands + os.pathsep + path
    return result


def of_step(step: Step, job: Job, cpus: Mapping[str, int], base: Mapping[str, str]) -> dict[str, str]:
    """Return the environment that all tasks of a step share.

    Args:
        step: the step.
        job: the step's job.
        cpus: the job's number of CPUs on each node, by node name.
        base: srun's environment.
    """
    nodes = [share.node for share in step.shares]
    tasks = [len(share.tasks) for share in step.shares]
    result = dict(base)
    if "SLURM_JOB_ID" not in result:
        result |= node_set(job.nodes, [share.cpus for share in job.shares], [s.tasks for s in job.shares])
        result |= {"SLURM_JOB_NAME": job.spec.name, "SLURM_JOB_PARTITION": job.partition}
    number = str(step.id)
    result |= {
        "SLURM_JOB_ID": str(job.id),
        "SLURM_JOBID": str(job.id),
        "SLURM_STEP_ID": number,
        "SLURM_STEPID": number,
        "SLURM_STEP_NODELIST": compress(nodes),
        "SLURM_STEP_NUM_NODES": str(len(nodes)),
        "SLURM_STEP_NUM_TASKS": str(sum(tasks)),
        "SLURM_STEP_TASKS_PER_NODE": compress_counts(tasks),
        "SLURM_NTASKS": str(sum(tasks)),
        "SLURM_NPROCS": str(sum(tasks)),
        "SLURM_NNODES": str(len(nodes)),
        "SLURM_TASKS_PER_NODE": compress_counts(tasks),
        "SLURM_CPUS_ON_NODE": str(cpus[nodes[0]]),
    }
    return result


def of_task(
    directory: str, node: str, storage: str, incarnation: str, number: int, tasks: Sequence[int]
) -> dict[str, str]:
    """Return the variables that a node adds to a task's environment.

    Args:
        directory: the cluster's directory.
        node: the node's name.
        storage: path of the node's local storage.
        incarnation: ``JOB.RESTART.STEP``.
        number: the task's number in its step.
        tasks: numbers of all tasks of the step on this node.
    """
    return {
        "WHESL_LOCAL": directory,
        CLUSTER: directory,
        NODE: node,
        STEP: incarnation,
        STORAGE: storage,
        "SLURMD_NODENAME": node,
        "SLURM_PROCID": str(number),
        "SLURM_LOCALID": str(tasks.index(number)),
        "SLURM_GTIDS": ",".join(map(str, tasks)),
    }


def file_name(
    pattern: str, job: Job, *, node: str, node_index: int = 0, step: int | None = None, task: int = 0
) -> str:
    """Return the path for a pattern of ``--output``; a relative one is below the job's working directory.

    Digits after the percent sign pad numbers with zeros: ``%4t``.

    Args:
        pattern: a file name with replacement symbols such as ``%j``.
        job: the job.
        node: name for ``%N``.
        node_index: number for ``%n``.
        step: the step's number; None for the job's script.
        task: number for ``%t``.
    """
    values: dict[str, int | str] = {
        "A": job.array_job or job.id,
        "a": job.array_task if job.array_task is not None else NO_ARRAY_TASK,
        "J": job.id if step is None else f"{job.id}.{step}",
        "j": job.id,
        "N": node,
        "n": node_index,
        "s": "batch" if step is None else step,
        "t": task,
        "u": job.spec.user,
        "x": job.spec.name,
    }

    def substitute(match: re.Match[str]) -> str:
        if match[2] == "%":
            return "%"
        value = values[match[2]]
        width = min(int(match[1] or 0), 10)
        return f"{value:0{width}}" if isinstance(value, int) and width else str(value)

    name = _PATTERN.sub(substitute, pattern)
    return name if name.startswith("/") else os.path.join(job.spec.workdir, name)  # noqa: PTH118
