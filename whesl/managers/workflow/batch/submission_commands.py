"""The commands that submit batch scripts: what they are asked, and what they reply."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from whesl.files import file_retry
from whesl.managers.resource.pbs.command import failure
from whesl.managers.resource.slurm.states import Reply, reply_kind
from whesl.managers.workflow.port import RunPlan
from whesl.managers.workflow.submission import flux_directives
from whesl.managers.workflow.submission.once import job_id
from whesl.model.errors import RefusedError


class SubmissionCommand(Protocol):
    """A command that submits a batch script, such as sbatch."""

    def words(self, plan: RunPlan, file: str, after: Sequence[str], beside: Sequence[str]) -> list[str]:
        """Return the command line that submits a script, without the name of the script's file.

        Args:
            plan: the plan of the workflow's run.
            file: the script.
            after: jobs that have to succeed before.
            beside: jobs that have to start before.
        """
        ...

    def job(self, reply: str) -> str:
        """Return the job's id in a reply, '' for none."""
        ...

    def may_work_later(self, reason: str) -> bool:
        """Whether a call that has failed says nothing of the job that it is about."""
        ...

    def element(self, job: str, index: str) -> str:
        """Return the id of an element of a job array."""
        ...


class Flux:
    """``flux batch``."""

    def words(self, plan: RunPlan, file: str, after: Sequence[str], beside: Sequence[str]) -> list[str]:
        """See the protocol."""
        said = flux_directives.parse(file_retry.retried(lambda: Path(file).read_text(errors="replace")))
        flux_directives.take(list(plan.arguments), said)
        # A job without a name of its own would be called by the whole path of its copy.
        named = [] if "job-name" in said else [f"--job-name={Path(file).name}"]
        conditions = [("afterok", job) for job in after] + [("after", job) for job in beside]
        waits = [f"--dependency={word}:{job}" for word, job in conditions]
        # Not looked up on PATH: a search that fails there goes on to the real command.
        return [f"{plan.directory}/bin/flux", "batch", *named, *plan.arguments, *waits]

    def job(self, reply: str) -> str:
        """See the protocol."""
        return reply.strip()

    def may_work_later(self, reason: str) -> bool:
        """See the protocol."""
        return reply_kind(reason) is Reply.LATER

    def element(self, job: str, index: str) -> str:
        """See the protocol; Flux has no job arrays."""
        return f"{job}_{index}"


class Sbatch:
    """``sbatch``."""

    def words(self, plan: RunPlan, file: str, after: Sequence[str], beside: Sequence[str]) -> list[str]:
        """See the protocol."""
        waits = _lists(after, beside)
        # Slurm itself is to cancel what waits for a job that has failed: it may say so only after we have
        # seen that job complete (slurmctld forgot its end), or when nobody looks any more.
        words = [f"--dependency={waits}", "--kill-on-invalid-dep=yes"] if waits else []
        return ["sbatch", "--parsable", *plan.arguments, *words]

    def job(self, reply: str) -> str:
        """See the protocol."""
        return job_id(reply)

    def may_work_later(self, reason: str) -> bool:
        """See the protocol."""
        return reply_kind(reason) in (Reply.SILENT, Reply.LATER)

    def element(self, job: str, index: str) -> str:
        """See the protocol."""
        return f"{job}_{index}"


class Qsub:
    """``qsub``. PBS itself deletes what waits for a job that has failed."""

    def words(self, plan: RunPlan, file: str, after: Sequence[str], beside: Sequence[str]) -> list[str]:
        """See the protocol."""
        waits = _lists(after, beside)
        return ["qsub", *plan.arguments, *(["-W", f"depend={waits}"] if waits else [])]

    def job(self, reply: str) -> str:
        """See the protocol."""
        return reply.strip()

    def may_work_later(self, reason: str) -> bool:
        """See the protocol."""
        return reply_kind(reason) is Reply.LATER or not isinstance(failure("qsub", 1, reason), RefusedError)

    def element(self, job: str, index: str) -> str:
        """See the protocol."""
        return job.replace("[]", f"[{index}]", 1)


COMMANDS: dict[str, SubmissionCommand] = {"flux": Flux(), "sbatch": Sbatch(), "qsub": Qsub()}


def _lists(after: Sequence[str], beside: Sequence[str]) -> str:
    """Return conditions as Slurm and PBS take them."""
    return ",".join(":".join((word, *jobs)) for word, jobs in (("afterok", after), ("after", beside)) if jobs)
