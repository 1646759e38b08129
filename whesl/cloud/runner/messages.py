"""What the runner and its executors write to each other, as small files in a domain's storage.

``box/<executor>/<number>.json`` is read by the executor, ``said/<executor>-<number>.json`` by the runner. A
number is used once, and a message that is written twice is the same one.
"""

from __future__ import annotations

import msgspec

from whesl.cloud.runner.run_records import Made

SAID = "said"
DATA = "data"
STOP = "stop"


class Assignment(msgspec.Struct, frozen=True, kw_only=True):
    """A task to run. ``directory`` and the files' names are relative to the domain's ``data``.

    With a ``script`` the command gets its path as last argument, and the output is the directory, packed.
    """

    number: int
    task: str
    attempt: int
    stage: str
    workflow: str
    command: tuple[str, ...]
    script: str = ""
    directory: str = ""
    inputs: tuple[Made, ...] = ()
    outputs: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()


class ExecutorReport(msgspec.Struct, frozen=True, kw_only=True):
    """What an executor says: number 0 when it is up, else of the task of that number.

    ``status``: of the task's command, None for one that was broken off because the executor's time was over.
    """

    executor: str
    number: int
    time: float
    ends: float = 0.0
    host: str = ""
    task: str = ""
    attempt: int = 0
    status: int | None = None
    seconds: float = 0.0
    outputs: tuple[Made, ...] = ()
    why: str = ""


def box(executor: str) -> str:
    """Return the directory from which an executor reads its assignments."""
    return f"box/{executor}"


def message(executor: str, number: int) -> str:
    """Return the name of an assignment."""
    return f"{box(executor)}/{number:06}.json"


def reply(executor: str, number: int) -> str:
    """Return the name of an executor's report."""
    return f"{SAID}/{executor}-{number:06}.json"
