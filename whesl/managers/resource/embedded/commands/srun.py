"""srun: run a step inside a job, or get a job for one command."""

from __future__ import annotations

import os
import select
import sys

from whesl.managers.resource.embedded import protocol
from whesl.managers.resource.embedded.channel import Channel, ChannelClosedError
from whesl.managers.resource.embedded.cluster_directory import Cluster
from whesl.managers.resource.embedded.commands import job_spec, options
from whesl.managers.resource.embedded.commands.job_step_client import StepClient, input_wanted, say
from whesl.managers.resource.embedded.commands.output_sinks import Sinks
from whesl.managers.resource.embedded.environment import of_step
from whesl.managers.resource.embedded.scheduler.job_and_node_records import Job, Step, StepWish
from whesl.managers.resource.launcher_shims.launcher_options import Table
from whesl.managers.resource.slurm import option_tables
from whesl.model.errors import RefusedError, UsageError
from whesl.model.states import JobState

OPTIONS = Table(option_tables.JOB + option_tables.SRUN)
# srun's input environment variables, and the option that each sets.
VARIABLES = {
    "SLURM_CPUS_PER_TASK": "cpus-per-task",
    "SLURM_DISTRIBUTION": "distribution",
    "SLURM_EXPORT_ENV": "export",
    "SRUN_EXPORT_ENV": "export",
    "SLURM_JOB_NUM_NODES": "nodes",
    "SLURM_NNODES": "nodes",
    "SLURM_KILL_BAD_EXIT": "kill-on-bad-exit",
    "SLURM_LABELIO": "label",
    "SLURM_NO_KILL": "no-kill",
    "SLURM_NTASKS": "ntasks",
    "SLURM_OPEN_MODE": "open-mode",
    "SLURM_OVERCOMMIT": "overcommit",
    "SLURM_OVERLAP": "overlap",
    "SLURM_STDERRMODE": "error",
    "SLURM_STDINMODE": "input",
    "SLURM_STDOUTMODE": "output",
    "SRUN_ERROR": "error",
    "SRUN_INPUT": "input",
    "SRUN_OUTPUT": "output",
    "SLURM_UNBUFFEREDIO": "unbuffered",
}
OUTSIDE = {
    "SLURM_ACCOUNT": "account",
    "SLURM_PARTITION": "partition",
    "SLURM_TIMELIMIT": "time",
    "SLURM_JOB_NAME": "job-name",
}
HELP = "Usage: srun [OPTIONS(0)...] executable [args(0)...]\n"


def run(arguments: list[str]) -> int:
    """Run a command on nodes; returns its highest exit code."""
    given, command = options.parse(OPTIONS, arguments, permute=False)
    names = dict(given)
    if {"help", "usage"} & names.keys():
        sys.stdout.write(HELP)
        return 0
    if not command:
        raise UsageError("No command given to execute.")
    for unsupported in ("multi-prog", "pty", "relative", "het-group"):
        if unsupported in names:
            raise UsageError(f"--{unsupported} is not supported by the local resource manager")
    cluster = Cluster.of(os.environ)
    reference = names.get("jobid") or os.environ.get("SLURM_JOB_ID", "")
    if reference:
        return _inside(cluster, reference, given, command)
    return _outside(cluster, given, command)


def _inside(cluster: Cluster, reference: str, given: list[tuple[str, str]], command: list[str]) -> int:
    answer = cluster.ask(protocol.ListJobs(jobs=(reference.split(".")[0],)), protocol.Jobs)
    if not answer.jobs:
        raise RefusedError(f"Unable to confirm allocation for job {reference}: Invalid job id specified")
    job = answer.jobs[0]
    if job.state is not JobState.RUNNING:
        reason = "Job is pending execution" if job.state is JobState.PENDING else "Slurm job has expired"
        raise RefusedError(f"Unable to confirm allocation for job {job.id}: {reason}")
    found = [*_from_environment(VARIABLES), *given]
    return _step(cluster, job, dict(found), dict(given), command)


def _outside(cluster: Cluster, given: list[tuple[str, str]], command: list[str]) -> int:
    found = [*_from_environment(VARIABLES | OUTSIDE), *given]
    last = dict(found)
    # srun handles the step's input and output; the job itself has none.
    asked = [(name, value) for name, value in found if name not in ("output", "error", "input", "open-mode")]
    name = os.path.basename(command[0])  # noqa: PTH119  # pathlib slows each command's start
    spec = job_spec.specification(asked, os.environ, name=name, interactive=True, requeue=False)
    try:
        answer = cluster.ask(protocol.Submit(spec=spec), protocol.Submitted)
    except RefusedError as error:
        raise RefusedError(f"Unable to allocate resources: {error.message}") from None
    job, owner = _await_nodes(cluster, answer.job)
    code = 1
    # ``owner`` stays open until Finish is sent: the server cancels a job whose owner disconnects before.
    keep: list[object] = [owner]
    try:
        code = _step(cluster, job, last, dict(given), command, keep)
    finally:
        cluster.call(protocol.Finish(job=job.id, restart=job.restarts, code=code))
    return code


def _await_nodes(cluster: Cluster, number: int) -> tuple[Job, Channel]:
    waited = False
    while True:
        owner = cluster.connect(patience=3600.0)
        owner.send(protocol.WatchJob(job=str(number), owner=True))
        try:
            owner.flush()
            while True:
                if not waited:
                    # As with Slurm's srun, the message is printed only when the job has to wait.
                    ready, _, _ = select.select([owner], [], [], 0.2)
                    if not ready:
                        waited = True
                        say(f"job {number} queued and waiting for resources")
                        continue
                else:
                    select.select([owner], [], [])
                for message in owner.receive():
                    if not isinstance(message, protocol.Jobs):
                        continue
                    job = message.jobs[0]
                    if job.state is JobState.RUNNING:
                        if waited:
                            say(f"job {number} has been allocated resources")
                        return job, owner
                    if job.state is not JobState.PENDING:
                        raise RefusedError(
                            "Unable to allocate resources: Job/step already completing or completed"
                        )
                    if not waited:
                        waited = True
                        say(f"job {number} queued and waiting for resources")
        except ChannelClosedError:
            owner.close()


def _step(
    cluster: Cluster,
    job: Job,
    last: dict[str, str],
    given: dict[str, str],
    command: list[str],
    keep: list[object] | None = None,
) -> int:
    fields = {
        name: value
        for option, value in last.items()
        for name, value in job_spec.step_fields(option, value).items()
    }
    nodes, tasks = fields.get("nodes"), fields.get("tasks")
    if tasks is not None and nodes is not None and tasks < nodes:
        say(f"Warning: can't run {tasks} processes on {nodes} nodes, setting nnodes to {tasks}")
        fields["nodes"] = tasks
    wish = StepWish(
        job=job.id,
        name=last["job-name"] if "job-name" in given else os.path.basename(command[0]),  # noqa: PTH119
        token=os.environ.get("WHESL_STEP_TOKEN", ""),
        launcher=os.getpid(),
        overlap="overlap" in last and "exclusive" not in given,
        overcommit="overcommit" in last,
        **fields,
    )
    source = last.get("input", "all")
    label, raw = "label" in last, "unbuffered" in last
    sinks = Sinks(
        last.get("output", ""),
        last.get("error", ""),
        append=last.get("open-mode", "").startswith("a"),
        label=label,
        takes_input=source != "none" and _redirect_input(source) and input_wanted(),
    )
    base = _environment(last.get("export"))
    cpus = {share.node: share.cpus for share in job.shares}
    umask = os.umask(0o077)
    os.umask(umask)

    def launch(step: Step, numbers: tuple[int, ...]) -> protocol.LaunchStep:
        places = {share.tasks: index for index, share in enumerate(step.shares)}
        fed = numbers if sinks.takes_input else ()
        if options.is_number(source):
            fed = tuple(number for number in fed if number == int(source))
        return protocol.LaunchStep(
            job=step.job,
            restart=step.restart,
            step=step.id,
            token=step.token,
            tasks=numbers,
            command=tuple(command),
            environment=of_step(step, job, cpus, base) | {"SLURM_NODEID": str(places[numbers])},
            workdir=os.path.abspath(last.get("chdir", ".")),  # noqa: PTH100
            umask=umask,
            input=fed,
            raw=raw and not label,
        )

    client = StepClient(
        cluster,
        job,
        launch,
        sinks,
        kill_on_bad_exit="kill-on-bad-exit" in last and last["kill-on-bad-exit"] != "0",
        no_kill="no-kill" in last and last["no-kill"] not in ("off", "no"),
        kill_wait=cluster.settings().kill_wait,
        owns_job=keep is not None,
    )
    if keep is not None:
        keep.append(client)
    return client.run(wish)


def _environment(choice: str | None) -> dict[str, str]:
    """Return the part of srun's environment that tasks inherit, always with the job's own variables."""
    base = dict(os.environ)
    base.pop("WHESL_STEP_TOKEN", None)
    if choice not in (None, "ALL"):
        allowed = job_spec.exported(choice, base)
        base = {k: v for k, v in base.items() if k.startswith(("SLURM_", "WHESL_LOCAL"))} | allowed
    return base


def _redirect_input(source: str) -> bool:
    """Open the file that ``--input`` names as this process's standard input; return True."""
    if source == "all" or options.is_number(source):
        return True
    try:
        descriptor = os.open(source, os.O_RDONLY)
    except OSError as error:
        raise RefusedError(f"Could not open stdin file {source}: {error.strerror}") from None
    os.dup2(descriptor, 0)
    os.close(descriptor)
    return True


def _from_environment(variables: dict[str, str]) -> list[tuple[str, str]]:
    return [
        (option, os.environ[variable])
        for variable, option in variables.items()
        if os.environ.get(variable) and not (option in _FLAGS and os.environ[variable] in ("0", "no"))
    ]


_FLAGS = ("label", "overcommit", "overlap", "unbuffered")
