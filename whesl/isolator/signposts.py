"""What a task that nobody else is told about leaves at the old places when a recovery has moved its files."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping

from whesl.isolator.description import WITHOUT_WORKFLOW
from whesl.isolator.state import State
from whesl.isolator.taskdir import Job
from whesl.model.errors import WheslError
from whesl.model.states import TaskState

LOG = logging.getLogger(__name__)


def leave(job: Job, state: State, environment: Mapping[str, str], clock: Callable[[], float]) -> None:
    """Put links at the old places (``whesl.erm.signpost``) when the task has succeeded at new ones.

    Not in a workflow of ours: its dependents are told the path map. Not before the task is over, and not when
    it has failed: then the old places are as the failed attempt left them. May be done again. What cannot be
    done is said in the log; the task's own status stays.

    Args:
        job: the task.
        state: of its isolator, at the end.
        environment: what the task's was made of.
        clock: the isolator's.
    """
    ended, configuration = state.ended, state.configuration
    if ended is None or ended.state is not TaskState.COMPLETED or job.setup.observe:
        return
    if job.setup.workflow != WITHOUT_WORKFLOW or not configuration.path_map:
        return
    # Only here: it is rare.
    from whesl.erm.signpost import put_up
    from whesl.isolator.steps import task_paths

    named = task_paths(job, configuration, environment)
    began = state.first_started + time.time() - clock()
    try:
        report = put_up(configuration.path_map, named, job.setup.task.id, began)
    except (WheslError, OSError) as error:
        LOG.error("no links at the old places: %s", error)
        return
    LOG.info("%d links at the old places", report.linked)
    for note in report.notes:
        LOG.warning("%s", note)
