"""Messages between the runner and its executors, as small files in a domain's storage.

``box/<executor>/<number>.json`` is read by the executor, ``said/<executor>-<number>.json`` by the runner. A
number is used once, so a message that is written twice is the same message.
"""

from __future__ import annotations

import msgspec

from whesl.cloud.runner.run_records import Made

SAID = "said"
DATA = "data"
STOP = "stop"


class Assignment(msgspec.Struct, frozen=True, kw_only=True):
    """A task to run. ``directory`` and the files' names are relative to the domain's ``data``.

    A ``script``'s path becomes the command's last argument, and the output is the packed directory.
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
    """A message of an executor: number 0 says that it is up, other numbers report the task with that number.

    ``status``: exit status of the task's command; None where the end of the executor's time interrupted it.
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
    """Return the name of an assignment.

    Args:
        executor: the executor's name.
        number: the message's number.
    """
    return f"{box(executor)}/{number:06}.json"


def reply(executor: str, number: int) -> str:
    """Return the name of an executor's report.

    Args:
        executor: the executor's name.
        number: the message's number.
    """
    return f"{SAID}/{executor}-{number:06}.json"
