"""Tasks that ``whesl exec`` runs without a coordinator: found by their directories, told by a file there."""

from __future__ import annotations

import time
import uuid
from pathlib import Path

import msgspec

from whesl.coordinator.core.hierarchy import AmbiguityError, resolve
from whesl.isolator.task import taskdir
from whesl.isolator.task.taskdir import Job, TaskDir
from whesl.model.errors import RefusedError, TransientError
from whesl.model.states import TaskState
from whesl.report.collection import gather
from whesl.report.summary import summarise
from whesl.wire.messages import Control

_TURN = 0.1


class Alone(msgspec.Struct, frozen=True):
    """A task that runs without a coordinator, and its directory."""

    task: str
    path: Path


def find(home: Path, wanted: str) -> Alone | None:
    """Return the task that a possibly abbreviated name means, None when there is none.

    Raises RefusedError with the candidates when there are several.
    """
    living: dict[str, Path] = {}
    for file in (home / "tasks").glob("*/*/job.json"):
        directory = TaskDir(file.parent)
        job = None if directory.result_file.exists() else taskdir.load(file, Job)
        if job is not None and not job.setup.coordinator and directory.owner() is not None:
            living[job.setup.task.id] = file.parent
    try:
        name = resolve(living, wanted)
    except AmbiguityError as error:
        if not any(wanted in candidate for candidate in error.candidates):
            return None
        raise RefusedError(str(error), hint=f"did you mean: {', '.join(error.candidates)}") from None
    return Alone(task=name, path=living[name])


def tell(home: Path, found: Alone, action: str) -> None:
    """Leave a paused task its word: resume or cancel.

    Raises RefusedError for a task that is not paused: nobody would look for the file.
    """
    state = _state(home, found)
    if action == "pause" or state is not TaskState.PAUSED:
        hint = "end it where `whesl exec` runs, with Ctrl-C or TERM" if action == "cancel" else ""
        raise RefusedError(
            f"{found.task} is {state.value}; it runs without a coordinator and hears resume and cancel"
            " while it is paused",
            hint=hint,
        )
    control = Control(task=found.task, id=uuid.uuid4().hex, action=action)
    taskdir.replace(TaskDir(found.path).control, msgspec.json.encode(control))


def wait(home: Path, found: Alone, timeout: float) -> str:
    """Return the task's state once it is paused no more. Raises TransientError after ``timeout`` seconds."""
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
