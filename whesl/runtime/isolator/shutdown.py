"""The end of an isolator: the summary for people, messages for the coordinator, the result for the keeper."""

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
from whesl.runtime.isolator.core.machine import EXIT_NOT_STARTED
from whesl.runtime.isolator.core.recovery.escalation_to_coordinator import EXIT_TEMPORARY
from whesl.runtime.isolator.core.state import State
from whesl.runtime.isolator.launch.setup_json import WITHOUT_WORKFLOW
from whesl.runtime.isolator.task import disk_reserve, requeue_truncation_warning, taskdir
from whesl.runtime.isolator.task.taskdir import Job, TaskDir
from whesl.runtime.journal import JournalError
from whesl.runtime.journal.records.isolator_records import AnyRecord, StepDone

if TYPE_CHECKING:
    from whesl.runtime.wire.client import CoordinatorClient

LOG = logging.getLogger(__name__)
FLUSH_LIMIT = 5.0
# Seconds for which the result is written again and again while the disk is full.
RESULT_PATIENCE = 30.0


def may_give_back(finish: Finish, *, observe: bool) -> bool:
    """Whether lost nodes may be given back: not by a job that may run again, never in observe mode."""
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
    """Write the summary, and its JSON where that was asked for; what cannot be written is no failure.

    Returns a line for the job's record at its resource manager, '' where nothing is worth one.

    Args:
        directory, job: the task's.
        allocation: the resource manager's inside face.
        state: in which it has ended.
        told: returns its journal's records with their times. Raises JournalError.
        notes: sentences for its user.
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
    except Exception:  # whatever has failed, the task's end is reported without it
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

    Not where WHESL runs the workflow: dependents get the path map. Not before the task is over, and not when
    it has failed: then the old places are as the failed attempt left them. May be done again. The task's own
    status stays, whatever cannot be done.

    Args:
        job: the task.
        state: of its isolator, at the end.
        told: reads its journal's records with their times.
        environment: what the task's was made of.
        clock: the isolator's.

    Returns what its user should know of that, a line each.
    """
    ended, configuration = state.ended, state.configuration
    if ended is None or ended.state is not TaskState.COMPLETED or job.setup.observe:
        return ()
    if job.setup.workflow != WITHOUT_WORKFLOW or not configuration.path_map:
        return ()
    # Only here: it is rare.
    from whesl.runtime.isolator.task_recovery_steps import task_paths
    from whesl.runtime.operations.relocation.links_at_task_end import Since, put_up

    try:
        moved = next((at for record, at in told() if _moves(record)), None)
        if moved is None:
            return ()
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
    """Close the connection to the coordinator; messages that it does not take now are left in its spool."""
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


def leave_result(directory: TaskDir, job: Job, state: State, finish: Finish) -> None:
    """Write down how the task ended, for the keeper; where there is no room, try for a while.

    Args:
        directory, job: the task's.
        state: in which it has ended.
        finish: its end.
    """
    result = taskdir.Result(
        code=finish.code,
        state=finish.state,
        reason=finish.reason,
        claim=job.setup.claim,
        notice=_notice(directory, job, state, finish),
    )
    content = msgspec.json.encode(result)
    try:
        disk_reserve.written(
            directory.path, lambda: file_retry.replace(directory.result_file, content), RESULT_PATIENCE
        )
    except OSError as error:
        # The keeper starts another isolator, which finds the task ended and tries again.
        LOG.error("the result could not be written: %s", error)
        return
    disk_reserve.release(directory.path)


def part_from_output(directory: TaskDir, job: Job) -> None:
    """Close the files that the task shares with others; where its keeper was killed, copy the rest.

    Args:
        directory, job: the task's.
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
    """Return in one line why a task ended with 75 or 126, where that is not its program's own status."""
    own = state.exit_code == finish.code and (finish.code != EXIT_TEMPORARY or state.recovery is None)
    if finish.code not in (EXIT_TEMPORARY, EXIT_NOT_STARTED) or own:
        return ""
    why = " ".join(finish.reason.split())
    return visible(f"whesl: {job.setup.task.id}: exit status {finish.code}: {why}; see {directory.summary}")


def _moves(record: AnyRecord) -> bool:
    """Whether a recovery step left a task with paths that have moved."""
    moved = record.configuration if isinstance(record, StepDone) else None
    return moved is not None and bool(moved.path_map)
