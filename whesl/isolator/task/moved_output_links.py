"""What a task that nobody else is told about leaves at the old places when a recovery has moved its files."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from time import time as time_now

from whesl.isolator.core.state import State
from whesl.isolator.launch.setup_json import WITHOUT_WORKFLOW
from whesl.isolator.task.taskdir import Job
from whesl.model.errors import WheslError
from whesl.model.states import TaskState
from whesl.records.isolator import AnyRecord, StepDone

LOG = logging.getLogger(__name__)


def leave(
    job: Job,
    state: State,
    told: Callable[[], Iterable[tuple[AnyRecord, float]]],
    environment: Mapping[str, str],
    clock: Callable[[], float],
) -> tuple[str, ...]:
    """Put links at the old places (``operations.output_links``) when the task has succeeded at new ones.

    Not in a workflow of ours: its dependents are told the path map. Not before the task is over, and not when
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
    from whesl.isolator.recovery_steps import task_paths
    from whesl.operations.relocation.moved_output_links import Since, put_up

    try:
        moved = next((time for record, time in told() if _moves(record)), None)
        if moved is None:
            return ()
        named = task_paths(job, configuration, environment)
        ahead = time_now() - clock()
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


def _moves(record: AnyRecord) -> bool:
    """Whether a recovery step left a task with paths that have moved."""
    moved = record.configuration if isinstance(record, StepDone) else None
    return moved is not None and bool(moved.path_map)
