"""What tasks have printed: the files of their newest attempts, and how they ended."""

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
    """A task, the files that its newest attempt has printed to, and its end; None while it has none."""

    task: str
    files: tuple[str, ...]
    state: TaskState | None
    exit_code: int | None

    @property
    def told(self) -> str:
        """How the task ended, in a line; "" while the task runs."""
        status = f", exit status {self.exit_code}" if self.exit_code is not None else ""
        return f"whesl: {self.state.value}{status}" if self.state is not None else ""


def runs(home: Path) -> list[tuple[list[str], bool]]:
    """Return the output of each task that has completed or failed, and whether it has completed.

    Args:
        home: the WHESL home.
    """
    ends = (TaskState.COMPLETED, TaskState.FAILED)
    over = [task for task in every(home) if task.state in ends and task.files]
    return [([*task.files], task.state is TaskState.COMPLETED) for task in over]


def every(home: Path) -> Iterator[TaskOutput]:
    """Yield all tasks of a user whose record is there; files that are gone are left out.

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
    """Return the task that a possibly abbreviated name means, None when there is none.

    Args:
        home: the WHESL home.
        wanted: its id, or a part of it that no other one has.

    Raises RefusedError with the candidates when there are several.
    """
    known = {each.task: each for each in every(home)}
    try:
        return known[resolve(known, wanted)]
    except AmbiguityError as error:
        if not any(wanted in candidate for candidate in error.candidates):
            return None
        raise RefusedError(str(error), hint=f"did you mean: {', '.join(error.candidates)}") from None
