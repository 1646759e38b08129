"""At its end, ``whesl run`` tells the coordinator of tasks whose isolator did not report how they ended.

The batch host may die before the isolator has reached the coordinator, the job may be cancelled while it
waits, the scheduler may refuse it, or the manager end before it submits it. The coordinator knows of no job
then that it could look at; only the record of submissions does. An isolator that was heard may have been
killed with its job before it could report the end: the coordinator would find that out after its limit of
silence, when the report has long been printed with a task that seems to recover.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import msgspec

from whesl.managers.resource import scheduler
from whesl.managers.resource.port import JobRecord
from whesl.managers.workflow.submission.once import Ledger, Submission
from whesl.model import home as places
from whesl.model.errors import CouldNotObserveError, WheslError
from whesl.model.states import JobState
from whesl.model.workflow import Task, Workflow
from whesl.runtime.coordinator.client.journal_state import known_state
from whesl.runtime.coordinator.client.start import ensure_running
from whesl.runtime.coordinator.core.state import State
from whesl.runtime.wire.client import request
from whesl.runtime.wire.messages import Command

LOG = logging.getLogger(__name__)
_REPLY = 20.0
# Seconds for which the last messages of an isolator whose job has ended may still be on their way.
_LAST_WORDS = 5.0
_LOOK = 0.5


def tell(home: Path, workflow: Workflow, rjms: str, submits: Collection[str]) -> None:
    """Tell the coordinator how the tasks ended that it never heard of.

    Args:
        home: the WHESL home.
        workflow: the workflow; its manager has ended, and will submit nothing any more.
        rjms: the resource manager that the jobs were submitted to.
        submits: the ids of the tasks that the manager hands to the resource manager.

    Tasks whose end cannot be observed or reported stay as they are.
    """
    state = known_state(home).state
    silent = unheard(state, workflow.id)
    known = _submissions(home, [task for task in workflow.tasks if task.id in silent and task.id in submits])
    jobs = {task: found.job for task, found in known.items() if found is not None and found.job}
    told = never_submitted(known)
    try:
        if jobs:
            told += ends(jobs, scheduler(rjms).jobs(list(jobs.values())))
    except WheslError as error:
        LOG.warning("what became of %s could not be seen: %s", ", ".join(jobs), error)
    told += _left_open(home, workflow.id, rjms, left_open(state, workflow.id))
    try:
        if told:
            ensure_running(home)
        for command in told:
            reply = request(home, command, _REPLY)
            if not reply.ok:
                LOG.warning("%s: %s", command.target, reply.error)
    except WheslError as error:
        LOG.warning("what became of %s could not be told: %s", ", ".join(c.target for c in told), error)


def unheard(state: State, workflow: str) -> tuple[str, ...]:
    """Return the tasks of a workflow whose isolator has never reached the coordinator."""
    return tuple(
        entry.id
        for entry in state.tasks.values()
        if entry.workflow == workflow and not entry.claim and not entry.state.final
    )


def left_open(state: State, workflow: str) -> dict[str, str]:
    """Return the tasks of a workflow that were heard and have not ended, each with its job's id."""
    return {
        entry.id: entry.job_id
        for entry in state.tasks.values()
        if entry.workflow == workflow and entry.claim and entry.job_id and not entry.state.final
    }


def _left_open(home: Path, workflow: str, rjms: str, jobs: Mapping[str, str]) -> list[Command]:
    """Return the messages on tasks that were heard, and whose jobs ended without a report of the end."""
    try:
        told = ends(jobs, scheduler(rjms).jobs(list(jobs.values()))) if jobs else []
    except WheslError as error:
        LOG.warning("what became of %s could not be seen: %s", ", ".join(jobs.values()), error)
        return []
    deadline = time.monotonic() + _LAST_WORDS
    while told and time.monotonic() < deadline:
        time.sleep(_LOOK)
        still = left_open(known_state(home).state, workflow)
        told = [command for command in told if still.get(command.target) == jobs[command.target]]
    return told


def never_submitted(submissions: Mapping[str, Submission | None]) -> list[Command]:
    """Return the messages on tasks that surely have no job.

    Args:
        submissions: by task; None where nothing was written down, so that no job was asked for.
    """
    said = []
    for task, found in submissions.items():
        if found is None:
            said.append(_ended(task, JobState.CANCELLED, "it was never submitted: its manager has ended"))
        elif found.refused and not found.job:
            said.append(_ended(task, JobState.FAILED, f"it was not submitted: {found.refused}"))
    return said


def ends(jobs: Mapping[str, str], records: Mapping[str, JobRecord]) -> list[Command]:
    """Return the messages on jobs that have surely ended.

    Args:
        jobs: by task.
        records: the scheduler's, by job. For a job that it does not know any more, there is no message.
    """
    said = []
    for task, job in jobs.items():
        record = records.get(job)
        if record is None or not record.state.ended:
            continue
        if record.state is JobState.CANCELLED and not record.nodes:
            said.append(_ended(task, record.state, f"its job {job} was cancelled before it began"))
        else:
            word = record.raw_state or record.state.value
            said.append(_ended(task, record.state, word, job, record.status))
    return said


def _ended(task: str, state: JobState, word: str, job: str = "", code: int = -1) -> Command:
    return Command(
        id=uuid.uuid4().hex,
        action="job-ended",
        target=task,
        arguments={"job": job, "state": state.value, "word": word, "exit_code": str(code)},
    )


def _submissions(home: Path, tasks: Sequence[Task]) -> dict[str, Submission | None]:
    """Return what was written down of each task; those whose record cannot be read are left out."""
    found: dict[str, Submission | None] = {}
    for task in tasks:
        try:
            found[task.id] = submission_of(home, task.id, task.step, task.instance)
        except (CouldNotObserveError, OSError) as error:
            LOG.warning("%s", error)
    return found


def submission_of(home: Path, task: str, step: str, instance: str) -> Submission | None:
    """Return what was written down of a task; the elements of a job array are one submission, of the step.

    Args:
        home: the WHESL home.
        task: its id.
        step, instance: what it consists of; an array's element has its index as instance.

    Raises CouldNotObserveError and OSError.
    """
    workflow = task.partition("/")[0]
    directory = places.submissions(home, workflow)
    found = Ledger(directory, task).read()
    if found is not None or not instance:
        return found
    array = Ledger(directory, f"{workflow}/{step}").read()
    return msgspec.structs.replace(array, job=f"{array.job}_{instance}") if array and array.job else array
