"""The outputs of tasks: the files of their newest attempts, and the tasks' ends."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from whesl.files import decode_errors, file_retry
from whesl.model import home as places
from whesl.model.errors import RefusedError
from whesl.model.states import TaskState
from whesl.runtime.coordinator.core.dependents_and_names import AmbiguityError, resolve
from whesl.runtime.isolator.observe.attempt_output_destination import present
from whesl.runtime.isolator.task.taskdir import Job, Result, TaskDir


class TaskOutput(msgspec.Struct, frozen=True, kw_only=True):
    """A task, the output files of its newest attempt, and its end, None while it runs."""

    task: str
    files: tuple[str, ...]
    state: TaskState | None
    exit_code: int | None

    @property
    def told(self) -> str:
        """The task's end in a line; "" while the task runs."""
        status = f", exit status {self.exit_code}" if self.exit_code is not None else ""
        return f"whesl: {self.state.value}{status}" if self.state is not None else ""


def runs(home: Path) -> list[tuple[list[str], bool]]:
    """Return the output files of each completed or failed task, and whether the task has completed.

    Args:
        home: the WHESL home.
    """
    ends = (TaskState.COMPLETED, TaskState.FAILED)
    over = [task for task in every(home) if task.state in ends and task.files]
    return [([*task.files], task.state is TaskState.COMPLETED) for task in over]


def every(home: Path) -> Iterator[TaskOutput]:
    """Yield all tasks in a home with a record, and their existing output files.

    Args:
        home: the WHESL home.
    """
    for file in file_retry.entries(places.tasks(home), "*/*/job.json"):
        job = decode_errors.load(file, Job)
        if job is None:
            continue
        directory = TaskDir(file.parent)
        result = decode_errors.load(directory.result_file, Result)
        outputs = present(directory, job, directory.newest_attempt())
        printed = dict.fromkeys((outputs.stdout, outputs.stderr))
        yield TaskOutput(
            task=job.setup.task.id,
            files=tuple(path for path in printed if Path(path).is_file()),
            state=result.state if result is not None else None,
            exit_code=result.code if result is not None else None,
        )


def of(home: Path, wanted: str) -> TaskOutput | None:
    """Return the task with a name, which may be abbreviated; None without such a task.

    Args:
        home: the WHESL home.
        wanted: the task's id, or a part of it that no other task's id contains.

    Raises RefusedError, with the candidates, when several tasks match.
    """
    known = {each.task: each for each in every(home)}
    try:
        return known[resolve(known, wanted)]
    except AmbiguityError as error:
        if not any(wanted in candidate for candidate in error.candidates):
            return None
        raise RefusedError(str(error), hint=f"did you mean: {', '.join(error.candidates)}") from None
