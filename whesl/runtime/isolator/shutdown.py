"""The end of an isolator: the user's summary, messages to the coordinator, the result for the keeper."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from whesl.files import file_retry
from whesl.files.whole_file import write_bytes
from whesl.managers.resource.port import Allocation
from whesl.model.errors import WheslError
from whesl.model.printable import visible
from whesl.model.states import TaskState
from whesl.report import task_summary
from whesl.runtime.detect import output_passthrough, shared_output
from whesl.runtime.isolator.core.events_and_commands import Finish
from whesl.runtime.isolator.core.recovery.escalation_to_coordinator import EXIT_TEMPORARY
from whesl.runtime.isolator.core.state import State
from whesl.runtime.isolator.core.state_machine import EXIT_NOT_STARTED
from whesl.runtime.isolator.task import disk_reserve, requeue_truncation_warning, taskdir
from whesl.runtime.isolator.task.taskdir import Job, TaskDir
from whesl.runtime.journal.records.isolator_records import AnyRecord, StepDone
from whesl.runtime.journal.sqlite_errors import JournalError

if TYPE_CHECKING:
    from whesl.runtime.wire.client import CoordinatorClient

LOG = logging.getLogger(__name__)
FLUSH_LIMIT = 5.0
# Seconds for which writing the result is retried while the disk is full.
RESULT_PATIENCE = 30.0


def may_give_back(finish: Finish, *, observe: bool) -> bool:
    """Whether the job may give lost nodes back: not if it may run again, and never in observe mode.

    Args:
        finish: the task's end.
        observe: whether the task runs in observe mode.
    """
    again = finish.code == EXIT_TEMPORARY or finish.state is TaskState.ESCALATED
    return not again and not observe


def summarise(
    directory: TaskDir,
    job: Job,
    allocation: Allocation,
    state: State,
    told: Callable[[], Sequence[tuple[AnyRecord, float]]],
    notes: tuple[str, ...],
) -> str:
    """Write the summary, and its JSON file on request; a failed write does not fail the task.

    Returns a line for the job's record at its resource manager, '' for none.

    Args:
        directory, job: the task's directory and job.
        allocation: the resource manager inside the job.
        state: the task's final state.
        told: returns the journal's records with their times. Raises JournalError.
        notes: sentences for the user.
    """
    assert state.ended is not None
    try:
        notes += requeue_truncation_warning.once(allocation)
        unwatched = job.setup.unwatched()
        said = task_summary.summarise(job.setup.task, list(told()), state.ended, notes, unwatched)
        file_retry.replace(directory.summary, task_summary.text(said).encode())
        if job.json_summary:
            write_bytes(Path(job.json_summary), msgspec.json.encode(said))
    except (OSError, JournalError, WheslError) as error:
        LOG.warning("the summary could not be written: %s", error)
        return ""
    except Exception:  # the task's end is reported without a summary after any error
        LOG.exception("the summary could not be made")
        return ""
    return "" if job.setup.observe else task_summary.remark(said)


def link_old_places(
    job: Job,
    state: State,
    told: Callable[[], Iterable[tuple[AnyRecord, float]]],
    environment: Mapping[str, str],
    clock: Callable[[], float],
) -> tuple[str, ...]:
    """Put links at the old places (``links_at_task_end``) when the task has succeeded at new ones.

    No links are made after a failed task, whose old places stay as the failed attempt left them. May be
    repeated. Failures do not change the task's status.

    Args:
        job: the task.
        state: the isolator's final state.
        told: returns the journal's records with their times.
        environment: the environment from which the task's was made.
        clock: the isolator's clock.

    Returns notes for the user on the links, a line each.
    """
    ended, configuration = state.ended, state.configuration
    if ended is None or ended.state is not TaskState.COMPLETED or job.setup.observe:
        return ()
    if not configuration.path_map:
        return ()
    # Imported here since moved paths are rare.
    from whesl.runtime.isolator.effects.task_recovery_steps import task_paths
    from whesl.runtime.operations.relocation.links_at_task_end import Since, put_up

    try:
        # A dependent of a task whose files have moved begins at the new places.
        moved = next((at for record, at in told() if _moves(record)), state.first_started)
        named = task_paths(job, configuration, environment)
        ahead = time.time() - clock()
        since = Since(state.first_started + ahead, moved + ahead)
        streams = [stream.path for stream in (job.stdout, job.stderr) if stream.path]
        report = put_up(configuration.path_map, named, job.setup.task.id, since, streams)
    except (WheslError, OSError) as error:
        LOG.error("no links at the old places: %s", error)
        places = ", ".join(f"{rule.new} instead of {rule.old}" for rule in configuration.path_map.rules)
        return (
            f"its outputs are below {places}, and no links lead there: {error}",
            "what stands at the old places may be half-written: use the new ones",
        )
    LOG.info("%d links at the old places", report.linked)
    for note in report.notes:
        LOG.warning("%s", note)
    return tuple(report.notes)


def part(client: CoordinatorClient) -> None:
    """Close the connection to the coordinator; leave undelivered messages in the coordinator's spool."""
    deadline = time.monotonic() + (FLUSH_LIMIT if client.connected() else 0.0)
    while client.waiting and time.monotonic() < deadline:
        client.socket.poll(50)
        client.receive()
        client.tick()
    if client.waiting:
        try:
            LOG.warning("the coordinator is away: %d messages are left for it", client.leave())
        except (OSError, WheslError) as error:
            LOG.error("%d messages could not be left for the coordinator: %s", client.waiting, error)
    client.close()


def leave_result(
    directory: TaskDir, job: Job, state: State, finish: Finish, interrupted: Callable[[float], bool]
) -> None:
    """Write the task's result for the keeper; retry for a while on a full disk.

    Args:
        directory, job: the task's directory and job.
        state: the isolator's final state.
        finish: the task's end.
        interrupted: waits for some seconds, and returns whether the task was told to end meanwhile.

    Raises OSError when the result could not be written: the keeper starts another isolator, which finds the
    task ended and tries again.
    """
    result = taskdir.Result(
        code=finish.code,
        state=finish.state,
        reason=finish.reason,
        claim=job.setup.claim,
        notice=_notice(directory, job, state, finish),
    )
    content = msgspec.json.encode(result)
    disk_reserve.written(
        directory.path,
        lambda: file_retry.replace(directory.result_file, content),
        RESULT_PATIENCE,
        interrupted,
    )
    disk_reserve.release(directory.path)


def part_from_output(directory: TaskDir, job: Job) -> None:
    """Close the output files that the task shares with others; copy what a killed keeper did not copy.

    Args:
        directory, job: the task's directory and job.
    """
    over = threading.Event()
    over.set()
    for name, stream in (("stdout", job.stdout), ("stderr", job.stderr)):
        if stream.path:
            shared_output.forget(stream.path)
        if not stream.common or (job.joined and name == "stderr"):
            continue
        try:
            out = file_retry.retried(
                partial(os.open, stream.common, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
            )
        except OSError as error:
            LOG.error("the end of the output was not copied to %s: %s", stream.common, error)
            continue
        output_passthrough.copy(str(directory.path), name, out, over, common=True, patient=False)
        file_retry.close(out)


def _notice(directory: TaskDir, job: Job, state: State, finish: Finish) -> str:
    """Return one line on why a task ended with 75 or 126, '' where the program returned that status."""
    own = state.exit_code == finish.code and (finish.code != EXIT_TEMPORARY or state.recovery is None)
    if finish.code not in (EXIT_TEMPORARY, EXIT_NOT_STARTED) or own:
        return ""
    why = " ".join(finish.reason.split())
    return visible(f"whesl: {job.setup.task.id}: exit status {finish.code}: {why}; see {directory.summary}")


def _moves(record: AnyRecord) -> bool:
    """Whether a record is of a recovery step that left the task with moved paths."""
    moved = record.configuration if isinstance(record, StepDone) else None
    return moved is not None and bool(moved.path_map)
