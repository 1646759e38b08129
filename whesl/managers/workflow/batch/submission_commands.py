"""The commands that submit batch scripts: their arguments and their replies."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from whesl.files import file_retry
from whesl.managers.resource.pbs.command import failure
from whesl.managers.resource.slurm.states import Reply, reply_kind
from whesl.managers.workflow.port import RunPlan
from whesl.managers.workflow.submission import flux_directives
from whesl.managers.workflow.submission.exactly_once_submission import job_id
from whesl.model.errors import RefusedError


class SubmissionCommand(Protocol):
    """A command that submits a batch script, such as sbatch."""

    def words(self, plan: RunPlan, file: str, after: Sequence[str], beside: Sequence[str]) -> list[str]:
        """Return the command line that submits a script, without the name of the script's file.

        Args:
            plan: the plan of the workflow's run.
            file: the script.
            after: ids of jobs that have to succeed before this job starts.
            beside: ids of jobs that have to start before this job starts.
        """

    def job(self, reply: str) -> str:
        """Return the job's id in a reply, '' for a reply without one."""
        return reply.strip()

    def may_work_later(self, reason: str) -> bool:
        """Whether a failed call with this reason may succeed later, because the job itself is not refused."""
        return reply_kind(reason) is Reply.LATER

    def element(self, job: str, index: str) -> str:
        """Return the id of an element of a job array.

        Args:
            job: the array's id, as ``job`` returned it.
            index: the element's number in the array, such as ``7``.
        """
        return f"{job}_{index}"


class Flux(SubmissionCommand):
    """``flux batch``."""

    def words(self, plan: RunPlan, file: str, after: Sequence[str], beside: Sequence[str]) -> list[str]:
        said = flux_directives.parse(file_retry.retried(lambda: Path(file).read_text(errors="replace")))
        flux_directives.take(list(plan.arguments), said)
        # Flux would name a job without a name after the whole path of the script's copy.
        named = [] if "job-name" in said else [f"--job-name={Path(file).name}"]
        conditions = [("afterok", job) for job in after] + [("after", job) for job in beside]
        waits = [f"--dependency={word}:{job}" for word, job in conditions]
        # The full path of WHESL's flux: a failed search on PATH would go on to the real command.
        return [f"{plan.directory}/bin/flux", "batch", *named, *plan.arguments, *waits]

    def job(self, reply: str) -> str:
        return "" if reply.startswith("{") else reply.strip()  # the jobspec that --dry-run shows


class Sbatch(SubmissionCommand):
    """``sbatch``."""

    def words(self, plan: RunPlan, file: str, after: Sequence[str], beside: Sequence[str]) -> list[str]:
        waits = _lists(after, beside)
        # Slurm itself cancels jobs that wait for a failed job: WHESL may miss the failure, when slurmctld has
        # forgotten the job's end, or when nobody looks any more.
        words = [f"--dependency={waits}", "--kill-on-invalid-dep=yes"] if waits else []
        return ["sbatch", "--parsable", *plan.arguments, *words]

    def job(self, reply: str) -> str:
        return job_id(reply)

    def may_work_later(self, reason: str) -> bool:
        return reply_kind(reason) in (Reply.SILENT, Reply.LATER)


class Qsub(SubmissionCommand):
    """``qsub``. PBS itself deletes jobs that wait for a failed job."""

    def words(self, plan: RunPlan, file: str, after: Sequence[str], beside: Sequence[str]) -> list[str]:
        waits = _lists(after, beside)
        return ["qsub", *plan.arguments, *(["-W", f"depend={waits}"] if waits else [])]

    def may_work_later(self, reason: str) -> bool:
        return reply_kind(reason) is Reply.LATER or not isinstance(failure("qsub", 1, reason), RefusedError)

    def element(self, job: str, index: str) -> str:
        return job.replace("[]", f"[{index}]", 1)


COMMANDS: dict[str, SubmissionCommand] = {"flux": Flux(), "sbatch": Sbatch(), "qsub": Qsub()}


def _lists(after: Sequence[str], beside: Sequence[str]) -> str:
    """Return dependencies on jobs in the form that Slurm and PBS share.

    Args:
        after: ids of jobs that have to succeed before.
        beside: ids of jobs that have to start before.
    """
    return ",".join(":".join((word, *jobs)) for word, jobs in (("afterok", after), ("after", beside)) if jobs)
