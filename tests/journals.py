"""Journal records for tests: a kind and what matters of its content; the rest is filled in."""

from __future__ import annotations

import enum
import functools
import typing
from collections.abc import Iterable
from typing import Any

import msgspec

from whesl.report.collection import Happening
from whesl.runtime.coordinator.core import journal_replay
from whesl.runtime.coordinator.core.state import Settings, State
from whesl.runtime.isolator.core import state as isolator_state
from whesl.runtime.isolator.core import state_machine
from whesl.runtime.isolator.core.task_setup import Setup
from whesl.runtime.journal.records import coordinator_records, isolator_records, of_coordinator, of_isolator
from whesl.runtime.wire.messages import Report

_SAMPLES: dict[str, Any] = {
    "Raised": {"exception": "CRASH", "task": "w/a", "attempt": 1, "ordinal": 1, "time": 1.0, "evidence": []},
    "NodeSet": {"active": ["n1"]},
    "Configuration": {},
    "History": {},
    "TaskState": "running",
    "NodeState": "up",
    "Detected": {"exception": "CRASH"},
}
_PLAIN: dict[Any, Any] = {str: "", int: 0, float: 0.0, bool: False}


def of_task(kind: str, data: Any = None, /, **more: Any) -> isolator_records.AnyRecord:
    """Return a record of a task's journal."""
    return of_isolator(_content(isolator_records.AnyRecord, kind, {**(data or {}), **more}))


def of_daemon(kind: str, data: Any = None, /, **more: Any) -> coordinator_records.AnyRecord:
    """Return a record of the coordinator's journal; a report: its ``kind`` and ``data``, and the task."""
    content = {**(data or {}), **more}
    if kind == "report" and "record" not in content:
        told = of_task(content.pop("kind"), content.pop("data", {}))
        content["record"] = told
    return of_coordinator(_content(coordinator_records.AnyRecord, kind, content))


def report(task: str, kind: str, time: float, data: Any = None) -> Report:
    """Return what an isolator reports."""
    return Report(task=task, time=time, record=of_task(kind, data))


def happening(task: str, kind: str, time: float, data: Any) -> Happening:
    """Return a recorded fact; kinds of the coordinator's begin with ``coordinator:``."""
    found: isolator_records.AnyRecord | coordinator_records.AnyRecord
    if kind.startswith("coordinator:"):
        found = of_daemon(kind.removeprefix("coordinator:"), data, task=task)
    else:
        found = of_task(kind, data)
    return Happening(task=task, time=time, record=found)


def plain(
    written: Iterable[tuple[isolator_records.AnyRecord | coordinator_records.AnyRecord, float]],
) -> list[tuple[str, dict[str, Any], float]]:
    """Return records by kind, content and time, for who looks at them with no code of the product's."""
    return [(record.kind, msgspec.to_builtins(record), time) for record, time in written]


def _content(union: Any, kind: str, data: dict[str, Any]) -> bytes:
    return msgspec.json.encode({"kind": kind, **_required(union)[kind], **data})


@functools.cache  # the fields' types are evaluated anew at each look
def _required(union: Any) -> dict[str, dict[str, Any]]:
    """Return, for each kind of record, something for each field that has no default."""
    return {
        each.__struct_config__.tag: {
            field.encode_name: _neutral(field.type)
            for field in msgspec.structs.fields(each)
            if field.required
        }
        for each in typing.get_args(union)
    }


def _neutral(of: Any) -> Any:
    if of in _PLAIN:
        return _PLAIN[of]
    if isinstance(of, type) and of.__name__ in _SAMPLES:
        return _SAMPLES[of.__name__]
    if isinstance(of, enum.EnumMeta):
        return next(iter(of)).value
    if type(None) in typing.get_args(of):
        return None
    return {} if typing.get_origin(of) is dict else []


Written = Iterable[tuple[str, dict[str, Any], float]]


def of_daemons(written: Written) -> list[tuple[coordinator_records.AnyRecord, float]]:
    """Return records of the coordinator's journal, given by kind, content and time."""
    return [(of_daemon(kind, data), time) for kind, data, time in written]


def of_tasks(written: Written) -> list[tuple[isolator_records.AnyRecord, float]]:
    """Return records of a task's journal, given by kind, content and time."""
    return [(of_task(kind, data), time) for kind, data, time in written]


def rebuild(written: Written, settings: Settings = Settings()) -> State:  # noqa: B008 - frozen
    """Return the coordinator's state that records describe."""
    return journal_replay.rebuild(of_daemons(written), settings)


def rebuild_task(setup: Setup, written: Written) -> isolator_state.State:
    """Return the isolator's state that records describe."""
    return state_machine.rebuild(setup, of_tasks(written))
