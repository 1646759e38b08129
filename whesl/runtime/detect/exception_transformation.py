"""Counting of exceptions, and the transformation of one into another. Pure.

By ``EXCEPTION DETECTION y EXCEPTION x n TIMES [WITHIN s]``, the n-th x becomes a y before it is handled
(dissertation, 2026, section 4.3.3). The occurrences that made the y are used up, and counting starts again. A
y may become a z in the same way, but no chain returns to a name that it has passed.
"""

from __future__ import annotations

from collections.abc import Set

import msgspec

from whesl.language.detections.external_and_counted import CountDetection
from whesl.language.spec import Spec
from whesl.model.evidence import Detected, History
from whesl.model.workflow import Task


class Transformed(msgspec.Struct, frozen=True, kw_only=True):
    """The exception that is raised after counting.

    ``origins`` are its earlier names, first to last; empty without a transformation. The caller keeps
    ``history`` for the next exception. ``detail`` says which counts were reached.
    """

    exception: str
    origins: tuple[str, ...] = ()
    history: History = History()
    detail: str = ""


def transform(spec: Spec, task: Task, history: History, exception: str, now: float) -> Transformed:
    """Count an exception of a task and return the exception that it becomes.

    Args:
        spec: the specification; only rules of exceptions that cover the task are used.
        task: the task.
        history: the last call's result; a new one at the task's first exception.
        exception: the name that a detector raised.
        now: the time of the exception, seconds since the epoch.
    """
    counts = dict(history.counts)
    name = exception
    origins: list[str] = []
    details: list[str] = []
    while True:
        target = None
        for key, becomes, rule in _rules(spec, task, name):
            times = (*counts.get(key, ()), now)
            if rule.within is not None:
                times = tuple(time for time in times if time >= now - rule.within)
            # The clock may have been set back, so the list is bounded by number as well as by time.
            times = times[-rule.times :]
            if len(times) >= rule.times and target is None and becomes not in (*origins, name):
                target, times = becomes, ()
                within = f" within {rule.within:g} s" if rule.within is not None else ""
                details.append(f"{name} {rule.times} times{within} is {becomes}")
            counts[key] = times
        if target is None:
            kept = {key: times for key, times in counts.items() if times}
            return Transformed(
                exception=name,
                origins=tuple(origins),
                history=History(counts=kept),
                detail=", ".join(details),
            )
        origins.append(name)
        name = target


def is_counted(spec: Spec, task: Task, exception: str) -> bool:
    """Whether the detection of another exception of a task counts an exception.

    Args:
        spec: the specification.
        task: the task.
        exception: the exception's name.
    """
    return bool(_rules(spec, task, exception))


def is_its_end(found: Detected, raised: Set[str]) -> bool:
    """Whether an exception only repeats, by an attempt's end, an exception of the same attempt.

    This concerns attempts that go on after an exception. In a run, the recovery ends the attempt at the line,
    so its exit is never judged.

    Args:
        found: the detector's exception.
        raised: the exceptions that the same attempt's detectors raised before.
    """
    return found.evidence[-1].kind == "exit" and found.exception in raised


def _rules(spec: Spec, task: Task, name: str) -> list[tuple[str, str, CountDetection]]:
    """Return the rules that count ``name`` for a task: key, name of the new exception, and rule."""
    return [
        (f"{candidate.name}#{index}", candidate.name, detection)
        for candidate in spec.exceptions_of(task)
        for index, detection in enumerate(candidate.detections)
        if isinstance(detection, CountDetection) and detection.exception == name
    ]
