"""sbatch: submit a script."""

from __future__ import annotations

import os
import shlex
import sys

import msgspec

from whesl.managers.resource.embedded import protocol
from whesl.managers.resource.embedded.channel import ChannelClosedError
from whesl.managers.resource.embedded.cluster_directory import Cluster
from whesl.managers.resource.embedded.commands import job_spec, options
from whesl.managers.resource.embedded.scheduler.job_and_node_records import Job, JobSpec
from whesl.managers.resource.launcher_shims.launcher_options import Table
from whesl.managers.resource.slurm import option_tables
from whesl.model.errors import CouldNotObserveError, RefusedError, TransientError, UsageError

# Options that are carried out, and options without a meaning on virtual nodes (memory, GPUs, mail, ...).
OPTIONS = Table(option_tables.JOB + option_tables.SBATCH)
# sbatch's input environment variables, in the order of sbatch(1), and the option that each sets.
VARIABLES = {
    "SBATCH_ACCOUNT": "account",
    "SBATCH_ARRAY_INX": "array",
    "SBATCH_ERROR": "error",
    "SBATCH_EXCLUSIVE": "exclusive",
    "SBATCH_EXPORT": "export",
    "SBATCH_INPUT": "input",
    "SBATCH_JOB_NAME": "job-name",
    "SBATCH_NO_KILL": "no-kill",
    "SBATCH_NO_REQUEUE": "no-requeue",
    "SBATCH_OPEN_MODE": "open-mode",
    "SBATCH_OUTPUT": "output",
    "SBATCH_PARTITION": "partition",
    "SBATCH_REQUEUE": "requeue",
    "SBATCH_SIGNAL": "signal",
    "SBATCH_TIMELIMIT": "time",
    "SBATCH_WAIT": "wait",
}
MAX_SCRIPT = 4 * 1024 * 1024
_NOT_A_SCRIPT = (
    "This does not look like a batch script.  The first\n"
    "sbatch: error: line must start with #! followed by the path to an interpreter.\n"
    "sbatch: error: For instance: #!/bin/sh"
)
HELP = "Usage: sbatch [OPTIONS(0)...] executable [args(0)...]\n"


def run(arguments: list[str]) -> int:
    """Submit a script and print the job's id; return 0, or with ``--wait`` the job's exit code."""
    given, rest = options.parse(OPTIONS, arguments, permute=False)
    if {"help", "usage"} & {name for name, _ in given}:
        sys.stdout.write(HELP)
        return 0
    wrapped = dict(given).get("wrap")
    if wrapped is not None:
        if rest:
            raise UsageError("Script arguments not permitted with --wrap option")
        script = f"#!/bin/sh\n# This script was created by sbatch --wrap.\n\n{wrapped}\n".encode()
        name, command = "wrap", ""
    else:
        script, command = _read(rest[:1])
        name = os.path.basename(command) or "sbatch"  # noqa: PTH119  # pathlib slows each command's start
    found = [*header(script), *_from_environment(), *given]
    last = dict(found)
    spec = job_spec.specification(found, os.environ, name=name, command=command, arguments=tuple(rest[1:]))
    if spec.tasks is not None and spec.nodes is not None and spec.tasks < spec.nodes:
        sys.stderr.write(
            f"sbatch: warning: can't run {spec.tasks} processes on {spec.nodes} nodes, "
            f"setting nnodes to {spec.tasks}\n"
        )
        spec = msgspec.structs.replace(spec, nodes=spec.tasks)
    cluster = Cluster.of(os.environ)
    if "test-only" in last:
        return _try(cluster, spec)
    message = protocol.Submit(
        spec=spec, script=script, environment=job_spec.exported(last.get("export"), os.environ)
    )
    try:
        answer = cluster.ask(message, protocol.Submitted)
    except (RefusedError, TransientError) as error:
        if spec.partition and error.message.startswith("Invalid partition"):
            sys.stderr.write(f"sbatch: error: invalid partition specified: {spec.partition}\n")
        raise RefusedError(f"Batch job submission failed: {error.message}") from None
    if "quiet" not in last or "parsable" in last:
        sys.stdout.write(f"{answer.job}\n" if "parsable" in last else f"Submitted batch job {answer.job}\n")
        sys.stdout.flush()
    return _wait(cluster, str(answer.job), bool(spec.array)) if "wait" in last else 0


def _try(cluster: Cluster, spec: JobSpec) -> int:
    """Print whether the server would accept a job; as in Slurm, a refusal lacks the command's name."""
    try:
        cluster.ask(protocol.Try(spec=spec), protocol.Done)
    except RefusedError as error:
        sys.stderr.write(f"allocation failure: {error.message}\n")
        return 1
    sys.stderr.write("sbatch: Job would be accepted\n")
    return 0


def header(script: bytes) -> list[tuple[str, str]]:
    """Return the options of a script's #SBATCH lines, up to its first command. Raises UsageError."""
    found: list[tuple[str, str]] = []
    for number, line in enumerate(script.decode("utf-8", "replace").splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            break
        if not line.startswith("#SBATCH"):
            continue
        try:
            words = shlex.split(line.removeprefix("#SBATCH"), comments=True)
        except ValueError as error:
            raise UsageError(f"line {number} of the script: {error}") from None
        given, rest = options.parse(OPTIONS, words)
        if rest:
            raise UsageError(f"line {number} of the script: {rest[0]!r} is no option")
        found += given
    return found


def _from_environment() -> list[tuple[str, str]]:
    found = []
    for variable, option in VARIABLES.items():
        if variable in os.environ:
            value = os.environ[variable]
            if option == "no-kill" and value != "set":
                raise UsageError("Invalid --no-kill specification")
            found.append((option, value))
    return found


def _read(where: list[str]) -> tuple[bytes, str]:
    """Return the script's text and path; the path is empty for a script from standard input."""
    try:
        if not where:
            script, path = sys.stdin.buffer.read(MAX_SCRIPT + 1), ""
        else:
            path = _find(where[0])
            with open(path, "rb") as file:  # noqa: PTH123
                script = file.read(MAX_SCRIPT + 1)
    except OSError:
        raise RefusedError(f"Unable to open file {where[0] if where else 'stdin'}") from None
    if len(script) > MAX_SCRIPT:
        raise RefusedError("Batch script is too large")
    if not script:
        raise RefusedError("Batch script is empty!")
    if not script.startswith(b"#!"):
        raise RefusedError(_NOT_A_SCRIPT)
    if b"\r\n" in script.partition(b"\n")[0] + b"\n":
        raise RefusedError(
            "Batch script contains DOS line breaks (\\r\\n)\n"
            "sbatch: error: instead of expected UNIX line breaks (\\n)."
        )
    return script, path


def _find(name: str) -> str:
    candidates = [name]
    if "/" not in name:
        candidates += [os.path.join(directory, name) for directory in os.get_exec_path()]  # noqa: PTH118
    for path in candidates:
        if os.path.isfile(path):  # noqa: PTH113
            return os.path.abspath(path)  # noqa: PTH100
    raise RefusedError(f"Unable to open file {name}")


def _wait(cluster: Cluster, job: str, array: bool) -> int:
    """Wait across server restarts until a job or a whole array has ended; return its highest exit code."""
    if not array:
        return _wait_one(cluster, job)
    answer = cluster.ask(protocol.ListJobs(jobs=(job,)), protocol.Jobs)
    return max(_wait_one(cluster, f"{job}_{task.array_task}") for task in answer.jobs)


def _wait_one(cluster: Cluster, reference: str) -> int:
    import select

    while True:
        channel = cluster.connect(patience=3600.0)
        channel.send(protocol.WatchJob(job=reference))
        try:
            channel.flush()
            while True:
                select.select([channel], [], [])
                for message in channel.receive():
                    if isinstance(message, protocol.Failed):
                        raise CouldNotObserveError(message.text)
                    if isinstance(message, protocol.Jobs) and message.jobs[0].state.ended:
                        return _exit_code(message.jobs[0])
        except ChannelClosedError:
            continue
        finally:
            channel.close()


def _exit_code(job: Job) -> int:
    if job.exit_signal:
        return 128 + job.exit_signal
    return job.exit_code or (0 if job.state == "COMPLETED" else 1)
