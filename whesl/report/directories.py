"""Tasks' own directories, read from the small files in them, without opening a journal."""

from __future__ import annotations

import contextlib
import math
from pathlib import Path
from urllib.parse import quote

import msgspec

from whesl.files import file_retry
from whesl.files.decode_errors import UNDECODABLE
from whesl.model import home as places
from whesl.model.states import TaskState
from whesl.model.workflow import Task
from whesl.report import handover_record

_HANDED_OVER = msgspec.json.Decoder(handover_record.HandedOver)


class TaskDirectory(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a task. ``began`` is seconds since the epoch; ``job`` is the scheduler's, if any."""

    task: Task
    path: Path
    began: float
    job: str = ""
    claim: str = ""

    def written(self) -> float:
        """Return the time of the journal's last write, seconds since the epoch."""
        with contextlib.suppress(OSError):
            return (self.path / "journal.db").stat().st_mtime
        return self.began

    def handed_over(self) -> list[handover_record.HandedOver]:
        """Return the records of the attempts that ran on another cluster."""
        with contextlib.suppress(OSError, *UNDECODABLE):
            lines = (self.path / handover_record.FILE).read_bytes()
            return _HANDED_OVER.decode_lines(lines)
        return []

    def by_its_own_name(self) -> TaskDirectory:
        """Return the run as a task that is named as its directory, which no other run has."""
        task = msgspec.structs.replace(self.task, id=f"{self.task.id.partition('/')[0]}/{self.path.name}")
        return msgspec.structs.replace(self, task=task)

    def state(self) -> TaskState:
        """Return the task's final state.

        RUNNING when it has not ended, or no process could record the end.
        """
        with contextlib.suppress(OSError, *UNDECODABLE):
            ended = msgspec.json.decode((self.path / "result.json").read_bytes(), type=_Result)
            if ended.claim == self.claim:
                return ended.state
        return TaskState.RUNNING


class _Setup(msgspec.Struct):
    task: Task
    job_id: str = ""
    claim: str = ""


class _Job(msgspec.Struct):
    setup: _Setup


class _Result(msgspec.Struct):
    state: TaskState
    claim: str


def task_directories(home: Path, workflow: str) -> list[TaskDirectory]:
    """Return each task's directories in the order of its runs; earlier directories have numbered names.

    Args:
        home: the WHESL home.
        workflow: the workflow's id.
    """
    found: list[TaskDirectory] = []
    for path in file_retry.entries(places.tasks(home) / quote(workflow, safe=""), "*/job.json"):
        with contextlib.suppress(OSError, *UNDECODABLE):
            setup = msgspec.json.decode(path.read_bytes(), type=_Job).setup
            began = path.stat().st_mtime
            found.append(
                TaskDirectory(
                    task=setup.task, path=path.parent, began=began, job=setup.job_id, claim=setup.claim
                )
            )
    # ``<name>.1`` is the oldest directory, ``<name>`` the present one.
    present: dict[str, str] = {}
    for item in found:
        name = item.path.name
        present[item.task.id] = min(present.get(item.task.id, name), name, key=len)
    return sorted(found, key=lambda item: _age(item.path.name, present[item.task.id]))


def _age(name: str, present: str) -> tuple[str, float]:
    number = name.removeprefix(f"{present}.")
    return present, float(number) if number.isascii() and number.isdigit() else math.inf
