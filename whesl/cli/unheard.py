"""What ``whesl run`` tells the coordinator at its end: jobs that ended before their isolator was ever heard.

The batch host may die before the isolator has reached the coordinator, which then knows of no job that it
could look at. Only the record of submissions names that.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Mapping
from pathlib import Path

from whesl.coordinator.observing import known_state
from whesl.coordinator.start import ensure_running
from whesl.coordinator.state import State
from whesl.model.errors import CouldNotObserveError, WheslError
from whesl.model.states import JobState
from whesl.rjms import scheduler
from whesl.rjms.port import JobRecord
from whesl.wire.client import request
from whesl.wire.messages import Command
from whesl.workflows.submit.once import Ledger

LOG = logging.getLogger(__name__)
_REPLY = 20.0


def tell(home: Path, workflow: str, rjms: str) -> None:
    """Tell the coordinator what became of the jobs that it never heard of.

    Args:
        home: the WHESL home.
        workflow: its id; its manager has ended.
        rjms: the resource manager that the jobs were submitted to.

    Whatever cannot be observed or told stays as it is.
    """
    jobs = _submitted(home, workflow, unheard(known_state(home).state, workflow))
    if not jobs:
        return
    try:
        found = ends(jobs, scheduler(rjms).jobs(list(jobs.values())))
        if found:
            ensure_running(home)
        for command in found:
            reply = request(home, command, _REPLY)
            if not reply.ok:
                LOG.warning("%s: %s", command.target, reply.error)
    except WheslError as error:
        LOG.warning("what became of %s could not be told: %s", ", ".join(jobs), error)


def unheard(state: State, workflow: str) -> tuple[str, ...]:
    """Return the tasks of a workflow whose isolator has never reached the coordinator."""
    return tuple(
        entry.id
        for entry in state.tasks.values()
        if entry.workflow == workflow and not entry.claim and not entry.state.final
    )


def ends(jobs: Mapping[str, str], records: Mapping[str, JobRecord]) -> list[Command]:
    """Return what is to be told: the jobs that have run and have surely ended.

    Args:
        jobs: by task.
        records: the scheduler's, by job. What it does not know any more is not told.
    """
    return [
        Command(
            id=uuid.uuid4().hex,
            action="job-ended",
            target=task,
            arguments={
                "job": job,
                "state": record.state.value,
                "word": record.raw_state or record.state.value,
                "exit_code": str(record.exit_code if record.exit_code is not None else -1),
            },
        )
        for task, job in jobs.items()
        # What was cancelled while it waited has never begun.
        if (record := records.get(job)) is not None
        and record.state.ended
        and (record.state is not JobState.CANCELLED or record.nodes)
    ]


def _submitted(home: Path, workflow: str, tasks: tuple[str, ...]) -> dict[str, str]:
    jobs: dict[str, str] = {}
    for task in tasks:
        try:
            submission = Ledger(home / "workflows" / workflow / "submissions", task).read()
        except (CouldNotObserveError, OSError) as error:
            LOG.warning("%s", error)
            continue
        if submission is not None and submission.job:
            jobs[task] = submission.job
    return jobs
