"""Submits a chain's scripts, by the resource manager's own command or by the port."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from whesl.files import file_retry
from whesl.managers.resource import manager_table
from whesl.managers.resource.command_call import captured
from whesl.managers.resource.granted_spares_and_requeue import YES, inside
from whesl.managers.resource.port import JobRequest, ReadsScripts, Scheduler
from whesl.managers.workflow import script_wrapping
from whesl.managers.workflow.batch.submission_commands import COMMANDS, SubmissionCommand
from whesl.managers.workflow.port import RunPlan
from whesl.managers.workflow.submission import submit_with_fallbacks
from whesl.model.errors import CouldNotObserveError, RefusedError, TransientError, UsageError

_TOLD = ("WHESL_HOME", "WHESL_PYTHON", "WHESL_RJMS")  # the run's variables that a job gets


class Submitter(Protocol):
    """Submits wrapped scripts as jobs (``ByCommand`` or ``ByPort``)."""

    def submit(self, file: str, after: Sequence[str], beside: Sequence[str]) -> str:
        """Submit a wrapped script once, and return its job's id.

        Args:
            file: the script.
            after: ids of jobs that have to succeed before this job starts.
            beside: ids of jobs that have to start before this job starts.

        Raises RefusedError when the scheduler refuses, TransientError when the same call may work later.
        """

    def element(self, job: str, index: str) -> str:
        """Return the id of an element of a job array.

        Args:
            job: the array's id, as ``submit`` returned it.
            index: the element's number in the array, which is its task's instance.
        """
        return f"{job}_{index}"


def submitter(plan: RunPlan, scheduler: Scheduler) -> Submitter:
    """Return the submitter of a run's scripts.

    Args:
        plan: the run's plan.
        scheduler: the scheduler of the run's resource manager.

    Raises UsageError for a resource manager without a submission command whose scheduler reads no scripts.
    """
    name = plan.environment["WHESL_RJMS"]
    if command := manager_table.manager(name).command:
        return ByCommand(plan, COMMANDS[command])
    if isinstance(scheduler, ReadsScripts):
        return ByPort(plan, scheduler, scheduler)
    raise UsageError(
        f"the adapter of {name} does not say what a script asks for",
        hint="give its scheduler a method request_of (whesl.api.resource_manager.ReadsScripts)",
    )


class ByCommand(Submitter):
    """Submits by the resource manager's own command, with WHESL's command first on PATH."""

    def __init__(self, plan: RunPlan, command: SubmissionCommand) -> None:
        self._plan, self._command = plan, command

    def element(self, job: str, index: str) -> str:
        return self._command.element(job, index)

    def submit(self, file: str, after: Sequence[str], beside: Sequence[str]) -> str:
        command = self._command.words(self._plan, file, after, beside)
        try:
            result = file_retry.retried(lambda: captured([*command, file], self._plan.environment))
        except OSError as error:
            kind = TransientError if error.errno in file_retry.TRANSIENT else RefusedError
            raise kind(f"{Path(file).name} was not submitted: {file_retry.told(error)}") from error
        _note(self._plan, f"{' '.join(command)} {file}\n{result.stdout}{result.stderr}")
        job = self._command.job(result.stdout)
        if result.returncode != 0 or not job:
            reason = result.stderr.strip() or result.stdout.strip() or f"status {result.returncode}"
            kind = TransientError if self._command.may_work_later(reason) else RefusedError
            failed = kind(f"{Path(file).name} was not submitted: {reason}")
            failed.exit_code = result.returncode  # 0 where the script asks for a test alone
            raise failed
        return job


class _Wish(msgspec.Struct, frozen=True):
    request: JobRequest
    spares: int
    nodes: int = 0
    notices: tuple[str, ...] = ()


class ByPort(Submitter):
    """Submits by a third party's scheduler, which reads batch scripts itself."""

    def __init__(self, plan: RunPlan, scheduler: Scheduler, reader: ReadsScripts) -> None:
        self._plan, self._scheduler, self._reader = plan, scheduler, reader

    def submit(self, file: str, after: Sequence[str], beside: Sequence[str]) -> str:
        if beside:
            raise RefusedError(f"{self._scheduler.name} starts no job with another (:with=)")
        text = os.fsdecode(file_retry.retried(Path(file).read_bytes))
        wrapped = script_wrapping.read_wrapped(text, file)
        assert wrapped is not None, "prepare has wrapped it"
        # The resource manager may start the file in place.
        file_retry.retried(lambda: Path(file).chmod(0o700))
        try:
            asked = self._reader.request_of(file, self._plan.arguments)
            job = self._with_fallbacks(asked, wrapped, after)
        except (UsageError, RefusedError) as error:
            raise RefusedError(f"{Path(file).name} was not submitted: {error.message}") from error
        except CouldNotObserveError as error:
            raise TransientError(f"{Path(file).name} was not submitted: {error.message}") from error
        _note(self._plan, f"{file}: job {job}\n")
        return job

    def _with_fallbacks(
        self,
        asked: JobRequest,
        wrapped: script_wrapping.WrappedScript,
        after: Sequence[str],
    ) -> str:
        def wish(token: str, spares: bool, avoided: tuple[str, ...]) -> _Wish:
            count = wrapped.spares if spares else 0
            said = inside(count, YES if asked.requeue else "", wrapped.workflow, wrapped.step)
            told = {name: self._plan.environment[name] for name in _TOLD if name in self._plan.environment}
            request = msgspec.structs.replace(
                asked,
                token=token,
                name=asked.name or wrapped.step,
                workdir=asked.workdir or str(Path.cwd()),
                nodes=asked.nodes + count,
                environment=asked.environment | told | said,
                exclude=(*asked.exclude, *avoided),
                after_ok=(*asked.after_ok, *after),
            )
            return _Wish(request, count)

        return submit_with_fallbacks.submit(
            wrapped,
            self._plan.environment,
            self._scheduler,
            rewrite=wish,
            impossible=lambda wanted: submit_with_fallbacks.too_many(self._scheduler, wanted.request.nodes),
            call=lambda wanted: self._scheduler.submit(wanted.request),
        )


def _note(plan: RunPlan, text: str) -> None:
    """Append a text to the run's log, where possible: the submission is valid without it."""

    def write() -> None:
        with Path(plan.log).open("a", errors="surrogateescape") as log:
            log.write(text)

    with contextlib.suppress(OSError):
        file_retry.retried(write, file_retry.BRIEF)
