"""At its end, ``whesl run`` reports to the coordinator the tasks whose isolator did not say how they ended.

Some isolators never reach the coordinator: the batch host dies, the job is cancelled while it waits, the
scheduler refuses the job, or the manager ends before it submits the job. The coordinator then knows no job
that it could query; only the record of submissions names one. Other isolators are killed with their job
before they report its end. The coordinator notices that after its limit of silence only, too late for the
report of the workflow, which would show a task that seems to recover.
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
from whesl.managers.workflow.submission.exactly_once_submission import Ledger, Submission
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
# Seconds for which an isolator's last messages may be under way after its job has ended.
_LAST_WORDS = 5.0
_LOOK = 0.5


def tell(home: Path, workflow: Workflow, rjms: str, submits: Collection[str]) -> None:
    """Report to the coordinator the end of tasks whose isolators did not report it.

    Args:
        home: the WHESL home.
        workflow: the workflow, whose manager has ended and submits nothing any more.
        rjms: the resource manager that the jobs were submitted to.
        submits: the ids of the tasks that the manager hands to the resource manager.

    A task whose end cannot be observed or reported keeps its state.
    """
    state = known_state(home).state
    silent = unheard(state, workflow.id)
    known = _submissions(home, [task for task in workflow.tasks if task.id in silent and task.id in submits])
    jobs = {task: found.job for task, found in known.items() if found is not None and found.job}
    heard = _left_open(state, workflow.id)
    told = never_submitted(known)
    try:
        records = scheduler(rjms).jobs([*jobs.values(), *heard.values()]) if jobs or heard else {}
        told += ends(jobs, records)
        told += _still_open(home, workflow.id, heard, ends(heard, records))
    except WheslError as error:
        LOG.warning("what became of %s could not be seen: %s", ", ".join([*jobs, *heard]), error)
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
    """Return the tasks of a workflow whose isolator has never reached the coordinator.

    Args:
        state: the coordinator's state.
        workflow: the workflow's id.
    """
    return tuple(
        entry.id
        for entry in state.tasks.values()
        if entry.workflow == workflow and not entry.claim and not entry.state.final
    )


def _left_open(state: State, workflow: str) -> dict[str, str]:
    """Return the tasks of a workflow that have registered and not ended, each with its job's id."""
    return {
        entry.id: entry.job_id
        for entry in state.tasks.values()
        if entry.workflow == workflow and entry.claim and entry.job_id and not entry.state.final
    }


def _still_open(home: Path, workflow: str, jobs: Mapping[str, str], told: list[Command]) -> list[Command]:
    """Return those messages whose tasks do not report their end in the next moments."""
    deadline = time.monotonic() + _LAST_WORDS
    while told and time.monotonic() < deadline:
        time.sleep(_LOOK)
        still = _left_open(known_state(home).state, workflow)
        told = [command for command in told if still.get(command.target) == jobs[command.target]]
    return told


def never_submitted(submissions: Mapping[str, Submission | None]) -> list[Command]:
    """Return the messages on tasks that surely have no job.

    Args:
        submissions: recorded submissions by task; None where none is recorded, so that no job was asked for.
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
        jobs: job ids by task.
        records: the scheduler's records by job id. A job that the scheduler no longer knows gets no message.
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
    """Return the recorded submission of each task; tasks whose record cannot be read are left out."""
    found: dict[str, Submission | None] = {}
    for task in tasks:
        try:
            found[task.id] = submission_of(home, task.id, task.step, task.instance)
        except (CouldNotObserveError, OSError) as error:
            LOG.warning("%s", error)
    return found


def submission_of(home: Path, task: str, step: str, instance: str) -> Submission | None:
    """Return the recorded submission of a task; the elements of a job array share one, the step's.

    Args:
        home: the WHESL home.
        task: the task's id.
        step: the task's step.
        instance: the task's instance; the index for an element of a job array.

    Raises CouldNotObserveError and OSError.
    """
    workflow = task.partition("/")[0]
    directory = places.submissions(home, workflow)
    found = Ledger(directory, task).read()
    if found is not None or not instance:
        return found
    array = Ledger(directory, f"{workflow}/{step}").read()
    return msgspec.structs.replace(array, job=f"{array.job}_{instance}") if array and array.job else array
