"""How a task ended, and what became of exceptions that were to be raised on its job: parts of the state."""

from __future__ import annotations

import msgspec

from whesl.model.states import TaskState


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """How it all ended."""

    code: int
    state: TaskState
    reason: str = ""


class JobRaise(msgspec.Struct, frozen=True, kw_only=True):
    """An exception to be raised on the job for the task's exception ``ordinal``; no outcome: not yet."""

    ordinal: int
    exception_type: str
    severity: int
    note: str
    outcome: str = ""
    reason: str = ""
