"""A job's Slurm variables, rewritten so that the nodes in use look like the whole allocation. Pure.

Source of the variables: srun(1), sbatch(1), "OUTPUT ENVIRONMENT VARIABLES".
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import groupby

from whesl.managers.resource.granted_spares_and_requeue import ASKED_TASKS, GRANTED_SPARES
from whesl.managers.resource.launcher_shims import nodes_in_use
from whesl.managers.resource.launcher_shims.nodes_in_use import HET_SIZE, HIDDEN_NODES, JOB, of_this_job
from whesl.model import hostlist
from whesl.model.errors import CouldNotObserveError

# Variables with a user's or sbatch's srun defaults for the job's own steps; WHESL's steps ignore them.
_STEP_DEFAULTS = re.compile(
    r"SLURM_(NTASKS|NPROCS|NNODES|JOB_NUM_NODES|TASKS_PER_NODE|N\w+_PER_\w+|DISTRIBUTION|HOSTFILE|EXCLUSIVE"
    r"|WHOLE|OVERLAP|OVERCOMMIT|CPUS_PER_\w+|TRES_\w+|THREADS\w*|THREAD_SPEC|CORE_SPEC|CPU_BIND\w*|MEM_\w+|GPU\w*"
    r"|JOB_GPUS|GRES\w*|STEP_GRES|EXPORT_ENV|STEP_\w+|NO_KILL|KILL_BAD_EXIT|MPI_TYPE|MULTI_PROG|LABELIO|UNBUFFEREDIO"
    r"|STDINMODE|STDOUTMODE|STDERRMODE|OPEN_MODE|WORKING_DIR|REMOTE_CWD|WAIT|TIMELIMIT|TASK_PROLOG|TASK_EPILOG|PROLOG"
    r"|EPILOG|CONSTRAINT|RESV_PORTS|SPREAD_JOB|USE_MIN_NODES|IMMEDIATE|DEBUG|DEPENDENCY|HINT|SRUN_\w+|ACCTG_FREQ"
    r"|BCAST\w*|COMPRESS|CPU_FREQ_REQ|DELAY_BOOT|DISABLE_STATUS|DIST_PLANESIZE|EXACT|EXIT_\w+|POWER"
    r"|PROFILE|SEND_LIBS|SIGNAL|TEST_EXEC|REQ_SWITCH|WAIT4SWITCH|OOM_?KILL_?STEP|EXTERNAL_LAUNCHER|\w+_SEGMENTS)"
    r"|SRUN_\w+"
)


def components(environ: Mapping[str, str]) -> tuple[tuple[str, ...], ...]:
    """Return the nodes of each component of a heterogeneous job, in order; () for any other job.

    Source: sbatch(1), "HETEROGENEOUS JOBS". Raises CouldNotObserveError for a missing or damaged node list.
    """
    size = environ.get(HET_SIZE, "")
    if not size.isdecimal():
        return ()
    names = [f"SLURM_JOB_NODELIST_HET_GROUP_{number}" for number in range(int(size))]
    try:
        found = tuple(tuple(hostlist.expand(environ.get(name, ""))) for name in names)
    except ValueError as error:
        raise CouldNotObserveError(f"SLURM_JOB_NODELIST_HET_GROUP_* is damaged: {error}") from None
    if not all(found):
        raise CouldNotObserveError(f"{names[found.index(())]} is not set, with {HET_SIZE}={size}")
    return found


def job_of(environ: Mapping[str, str]) -> str:
    """Return the job's id as Slurm's commands take it; empty outside of jobs.

    The last element of an array has the array's id as its own id, by which the commands mean all elements:
    such an element's id is ``12_3`` here. Array variables alone do not show an element, because jobs that an
    element submits inherit them.
    """
    job, element = environ.get("SLURM_JOB_ID", ""), environ.get("SLURM_ARRAY_TASK_ID", "")
    return f"{job}_{element}" if element and job == environ.get("SLURM_ARRAY_JOB_ID") else job


def nodes_of(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the nodes of all components of the job, in order, each node once.

    Raises CouldNotObserveError for a missing or damaged node list.
    """
    if parts := components(environ):
        return tuple(dict.fromkeys(node for part in parts for node in part))
    text = environ.get("SLURM_JOB_NODELIST") or environ.get("SLURM_NODELIST") or ""
    try:
        nodes = hostlist.expand(text)
    except ValueError as error:
        raise CouldNotObserveError(f"SLURM_JOB_NODELIST is damaged: {error}") from None
    if not nodes:
        raise CouldNotObserveError("SLURM_JOB_NODELIST is not set", hint="is this inside a Slurm job?")
    return nodes


def own_node(environ: Mapping[str, str], nodes: Sequence[str], host: str) -> str:
    """Return the job's node on which this process runs; this host's name where it is no node of the job.

    Commands of ``salloc`` run on the host where salloc was called (salloc(1)), most often a login node.

    Args:
        environ: the process's environment.
        nodes: the job's nodes.
        host: this host's name.
    """
    names = (environ.get("SLURMD_NODENAME", ""), host, host.partition(".")[0])
    return next((name for name in names if name in nodes), host)


def for_nodes(active: Sequence[str], environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that describe the nodes in use as a job's whole allocation.

    The number of tasks stays as the user asked for it, because MPI programs depend on it; tasks per node
    (``--ntasks-per-node``) count on the nodes in use only. The variables of a heterogeneous job's components
    change where a component has spares or lost nodes. Where ``whesl run`` has asked for the spares, the
    number of a component's tasks has grown with its nodes.

    Args:
        active: the nodes in use.
        environ: the job's environment.
    """
    allocated = nodes_of(environ)
    used_nodes = frozenset(active)
    hidden = nodes_in_use.told(node for node in allocated if node not in used_nodes)
    told = {HIDDEN_NODES: hidden, JOB: environ.get("SLURM_JOB_ID", "")}
    if environ.get(ASKED_TASKS):
        told[ASKED_TASKS] = ""  # jobs that the task submits have numbers of their own
    if not of_this_job(environ):
        from whesl.managers.resource.launcher_shims.flux_instance_files import DIRECTORY
        from whesl.managers.resource.launcher_shims.flux_node_swap import INSTANCE

        # They are about the Flux instance inside the job that has submitted this one.
        told |= {DIRECTORY: "", INSTANCE: ""}
    parts = components(environ)
    for number, part in enumerate(parts):
        used = [node for node in active if node in part]
        if used and len(used) < len(part):
            # The variables without a number are about the first component, or about none.
            told |= _of_component(used, part, environ, f"_HET_GROUP_{number}")
            told |= _of_component(used, part, environ, "") if number == 0 else {}
    if parts:
        return told
    result = told | job_size(active)
    for name in ("SLURM_JOB_CPUS_PER_NODE", "SLURM_TASKS_PER_NODE"):
        if environ.get(name):
            result[name] = _counts(environ[name], allocated, active)
    if active and environ.get("SLURM_NTASKS", "").isdecimal():
        asked, _, grown = environ.get(ASKED_TASKS, "").partition("/")
        tasks = int(environ["SLURM_NTASKS"])
        if grown and int(asked) <= tasks <= int(grown):  # fewer than grown where a later run has fewer spares
            tasks = int(asked)
        per_node = environ.get("SLURM_NTASKS_PER_NODE", "")
        if per_node.isdecimal():
            tasks = min(tasks, int(per_node) * len(active))
        result |= {"SLURM_NTASKS": str(tasks), "SLURM_NPROCS": str(tasks)}
        each, more = divmod(tasks, len(active))
        spread = [each + (index < more) for index in range(len(active))]
        result["SLURM_TASKS_PER_NODE"] = compress_counts([count for count in spread if count])
    return result


def job_size(active: Sequence[str]) -> dict[str, str]:
    """Return the variables with the names and the number of a job's nodes."""
    return {
        "SLURM_JOB_NODELIST": hostlist.compress(active),
        "SLURM_NODELIST": hostlist.compress(active),
        "SLURM_NNODES": str(len(active)),
        "SLURM_JOB_NUM_NODES": str(len(active)),
    }


def _counts(text: str, nodes: Sequence[str], active: Sequence[str]) -> str:
    """Return the counts of the nodes in use, from a text with the counts of all nodes."""
    counts = dict(zip(nodes, expand_counts(text), strict=False))
    fallback = min(counts.values(), default=1)
    return compress_counts([counts.get(node, fallback) for node in active])


def _of_component(
    used: Sequence[str], part: Sequence[str], environ: Mapping[str, str], suffix: str
) -> dict[str, str]:
    """Return a component's variables, of those that the job has, for its nodes in use."""
    found = job_size(used)
    for name in ("SLURM_JOB_CPUS_PER_NODE", "SLURM_TASKS_PER_NODE"):
        if environ.get(name + suffix):
            found[name] = _counts(environ[name + suffix], part, used)
    for name in ("SLURM_NTASKS", "SLURM_NPROCS") if GRANTED_SPARES in environ else ():
        if (tasks := environ.get(name + suffix, "")).isdecimal():
            found[name] = str(max(int(tasks) * len(used) // len(part), 1))
    return {name + suffix: value for name, value in found.items() if name + suffix in environ}


def for_own_step(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for WHESL's own steps: without the srun defaults for the job's steps."""
    return {name: value for name, value in environ.items() if not _STEP_DEFAULTS.fullmatch(name)}


def of_script(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables by which Slurm describes a job, or one of its steps, to a process."""
    return {name: value for name, value in environ.items() if name.startswith(("SLURM", "SRUN_"))}


def expand_counts(text: str) -> list[int]:
    """Return the single counts of a text like ``2(x3),1``. Raises CouldNotObserveError for other texts."""
    counts: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"([0-9]{1,9})(?:\(x([0-9]{1,6})\))?", part)
        if match is None:
            raise CouldNotObserveError(f"not a list of counts per node: {text[:80]!r}")
        counts += [int(match[1])] * int(match[2] or 1)
    return counts


def compress_counts(counts: Sequence[int]) -> str:
    """Return counts in Slurm's short form: ``2(x3),1`` for 2, 2, 2, 1."""
    runs = [(count, len(list(same))) for count, same in groupby(counts)]
    return ",".join(f"{count}(x{length})" if length > 1 else str(count) for count, length in runs)
