"""Tasks that ``whesl exec`` runs without a coordinator, found and controlled by their directories."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable
from pathlib import Path

import msgspec

from whesl.files import decode_errors, file_retry
from whesl.model import home as places
from whesl.model.errors import RefusedError, TransientError
from whesl.model.outcomes import ControlAction
from whesl.model.states import TaskState
from whesl.report.collection import gather
from whesl.report.report_builder import summarise
from whesl.runtime.coordinator.core.dependents_and_names import AmbiguityError, resolve
from whesl.runtime.coordinator.core.persistent_map import Map
from whesl.runtime.coordinator.core.state import State, TaskEntry
from whesl.runtime.isolator.task import raise_requests
from whesl.runtime.isolator.task.taskdir import Job, Result, TaskDir
from whesl.runtime.wire.messages import Control

_TURN = 0.1


class Alone(msgspec.Struct, frozen=True):
    """A task that runs without a coordinator, and its directory."""

    task: str
    path: Path


def find(home: Path, wanted: str) -> Alone | None:
    """Return the task with a name, which may be abbreviated; None without such a task.

    Args:
        home: the WHESL home.
        wanted: the task's id or a part of it.

    Raises RefusedError, with the candidates, when several tasks match.
    """
    living = {task: path for task, (path, _) in _living(home).items()}
    try:
        name = resolve(living, wanted)
    except AmbiguityError as error:
        if not any(wanted in candidate for candidate in error.candidates):
            return None
        raise RefusedError(str(error), hint=f"did you mean: {', '.join(error.candidates)}") from None
    return Alone(task=name, path=living[name])


def _living(home: Path) -> dict[str, tuple[Path, Job]]:
    """Return the directories and jobs of the tasks whose isolator lives, by the tasks' ids."""
    living: dict[str, tuple[Path, Job]] = {}
    for file in file_retry.entries(places.tasks(home), "*/*/job.json"):
        directory = TaskDir(file.parent)
        job = None if directory.result_file.exists() else decode_errors.load(file, Job)
        if job is not None and not job.setup.coordinator and directory.owner() is not None:
            living[job.setup.task.id] = (file.parent, job)
    return living


def state(home: Path) -> State:
    """Return the living tasks without a coordinator in the form of a coordinator's state."""
    entries = {task: _entry(path, job, TaskState.RUNNING) for task, (path, job) in _living(home).items()}
    return State(tasks=Map(entries), live=Map(dict.fromkeys(entries)))


def ended(home: Path) -> State:
    """Return the ended tasks without a coordinator in the form of a coordinator's state."""
    entries: dict[str, TaskEntry] = {}
    for file in file_retry.entries(places.tasks(home), "*/*/result.json"):
        job, result = decode_errors.load(file.with_name("job.json"), Job), decode_errors.load(file, Result)
        if job is not None and result is not None and not job.setup.coordinator:
            entries[job.setup.task.id] = _entry(file.parent, job, result.state)
    return State(tasks=Map(entries))


def _entry(path: Path, job: Job, state: TaskState) -> TaskEntry:
    setup = job.setup
    return TaskEntry(
        id=setup.task.id,
        workflow=setup.workflow,
        step=setup.task.step,
        instance=setup.task.instance,
        state=state,
        claim=setup.claim,
        rjms=setup.rjms,
        job_id=setup.job_id,
        cluster=setup.cluster,
        nodes=setup.nodes,
        uses=TaskDir(path).active_nodes(),
        declared=tuple(exception.name for exception in setup.exceptions()),
    )


def directory_of(home: Path, task: str) -> TaskDir:
    """Return the directory of a running task. Raises TransientError when its isolator has just ended.

    Args:
        home: the WHESL home.
        task: the task's id.
    """
    found = _living(home).get(task)
    if found is None:
        raise TransientError(f"the isolator of {task} has just ended", hint="see `whesl report`")
    return TaskDir(found[0])


def untaken(home: Path, tasks: Iterable[str], identity: str) -> set[str]:
    """Return the ids of tasks whose isolators have not recorded a raised exception.

    Args:
        home: the WHESL home.
        tasks: the ids of the tasks.
        identity: the id of the raised exception.
    """
    living = _living(home)
    return {
        task
        for task in tasks
        if task in living and raise_requests.waits(TaskDir(living[task][0]).raised, identity)
    }


def tell(home: Path, found: Alone, action: str) -> None:
    """Resume or cancel a paused task by a file in its directory.

    Args:
        home: the WHESL home.
        found: the task.
        action: the action, resume or cancel.

    Raises RefusedError for a task that is not paused, whose isolator does not look for the file.
    """
    state = _state(home, found)
    if action == "pause" or state is not TaskState.PAUSED:
        hint = "end it where `whesl exec` runs, with Ctrl-C or TERM" if action == "cancel" else ""
        raise RefusedError(
            f"{found.task} is {state.value}; it runs without a coordinator and hears resume and cancel"
            " while it is paused",
            hint=hint,
        )
    control = Control(task=found.task, id=uuid.uuid4().hex, action=ControlAction(action))
    file_retry.replace(TaskDir(found.path).control, msgspec.json.encode(control))


def wait(home: Path, found: Alone, timeout: float) -> str:
    """Wait until a task is no longer paused, and return its state.

    Args:
        home: the WHESL home.
        found: the task.
        timeout: the longest wait, seconds.

    Raises TransientError when the task is still paused then.
    """
    deadline = time.monotonic() + timeout
    while (state := _state(home, found)) is TaskState.PAUSED:
        if time.monotonic() >= deadline:
            raise TransientError(
                f"{found.task} is still paused after {timeout:g} s",
                hint=f"does its isolator live? its log is {TaskDir(found.path).log}",
            )
        time.sleep(_TURN)
    return str(state.value)


def _state(home: Path, found: Alone) -> TaskState:
    report = summarise(gather(home, found.task.partition("/")[0]))
    return next(TaskState(row.state) for row in report.tasks if row.task == found.task)
