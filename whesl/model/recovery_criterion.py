"""When a restart counts as a recovery. Pure.

An exception is *recovered* when the attempt that was restarted for it

* completed the task, or
* has a newer whole checkpoint than the failed attempt had, or
* captured a higher number of progress (``PROGRESS``) than the failed attempt; where that had one, it
  alone decides, or
* printed the number of a later step of its work than the last one that the failed attempt had printed: an
  attempt from a checkpoint runs as long as the failed one, and prints as much. Of nested counters, such as
  epochs with steps, the outer one counts first, or
* printed clearly more than the failed attempt had (twice as much and 16 KiB), or
* ran clearly longer than the failed attempt had when the exception was raised (1.25 times as long and 10 s).
  What had failed on a node is past after a minute: wherever the program was, the node is replaced.

Until then it is *restarted*. The margins are wide, since a program that fails at the same place again needs
a little more or less time and prints another number of lines: what is called recovered has gone on.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import TypeAlias

import msgspec

Counters: TypeAlias = tuple[tuple[str, int | float], ...]  # names of counters with their numbers

_STEP = re.compile(
    r"\b((?:time|global)[ _-]?step|step|iteration|iter|epoch|cycle|generation|round|frame|batch)s?"
    r"(?: no\.?| number)?\s*[#:=\[(]*\s*(\d{1,15})(?![\w.])",
    re.IGNORECASE,
)
# The epoch of Hugging Face's Trainer: 'epoch': 0.12.
_EPOCH = re.compile(r"""\b(epoch)['"]?\s*[:=]\s*['"]?(\d{1,9}\.\d{1,9})(?![\w.])""")
# Bars of tqdm and Keras: 40%|████      | 4/10 [00:01<00:02, 3.0it/s], 4/10 [===>......] - ETA: 2s.
_BAR = re.compile(r"(?<![\w./])(\d{1,15})/(\d{1,15}) \[")
_COLOUR = re.compile(r"\x1b\[[\d;]*[A-Za-z]")
# Lines that name a step other than the present one.
_UNSTEADY = re.compile(r"\b(?:error|fail|fatal|abort|retry|max|total|resum|restor|restart)", re.IGNORECASE)
LONGER = 1.25
LONGER_BY = 10.0  # seconds
MORE = 2
MORE_BY = 16 * 1024  # bytes
NODE_SECONDS = 60.0
ABOUT_NODES = frozenset({"node", "heartbeat", "job-exception", "stuck", "external", "predicted"})


class Reach(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How far an attempt had come.

    ``seconds`` it had run, ``output``: bytes it had printed (-1: not known), ``progress``: the highest
    number that the first ``PROGRESS`` detection of its task had captured. ``steps``: the counters of its work
    that it had printed, the outer ones first: their names and last numbers. ``checkpoint``: the number of the
    newest whole one of a program that runs under ``--checkpoints``; 0: none is known.
    """

    seconds: float = 0.0
    output: int = -1
    progress: float | None = None
    steps: tuple[tuple[str, int | float], ...] = ()
    checkpoint: int = 0


class Furthest(msgspec.Struct, frozen=True, kw_only=True):
    """How far a task had come in all of its attempts together.

    ``steps``: for each sequence of counters' names its latest numbers; the newest sequence is the last one.
    The other fields are the highest values of ``Reach`` over the attempts.
    """

    seconds: float = 0.0
    output: int = -1
    progress: float | None = None
    steps: tuple[Counters, ...] = ()
    checkpoint: int = 0

    def passed_by(self, now: Reach) -> bool:
        """Whether an attempt has come further than all before it.

        A new checkpoint is further. Else a captured number of progress alone decides, where there is one;
        else counters with names that were seen before; else a clearly longer time, or clearly more output.
        """
        if now.checkpoint > self.checkpoint:
            return True
        if now.progress is not None or self.progress is not None:
            return now.progress is not None and (self.progress is None or now.progress > self.progress)
        if known := [both for steps in self.steps if (both := _both(now.steps, steps))]:
            return all(map(_risen, known))
        if now.seconds >= LONGER * self.seconds + LONGER_BY:
            return True
        return self.output >= 0 and now.output >= MORE * self.output + MORE_BY

    def taking(self, now: Reach) -> Furthest:
        """Return the furthest that this and another attempt have come."""
        steps = {tuple(dict(known)): known for known in self.steps}
        names = tuple(dict(now.steps))
        before = steps.pop(names, ())
        if names:
            steps[names] = before if before and not _risen(_both(now.steps, before)) else now.steps
        numbers = [number for number in (self.progress, now.progress) if number is not None]
        return Furthest(
            seconds=max(self.seconds, now.seconds),
            output=max(self.output, now.output),
            progress=max(numbers, default=None),
            steps=tuple(steps.values()),
            checkpoint=max(self.checkpoint, now.checkpoint),
        )

    def __str__(self) -> str:
        """Return the criterion that is compared first, in a few words."""
        if self.progress is not None:
            return f"a progress of {self.progress:g}"
        if self.steps:
            return ", ".join(f"{name} {number}" for name, number in self.steps[-1])
        return f"checkpoint {self.checkpoint}" if self.checkpoint else f"{self.seconds:.0f} s of running"


def went_past(failed: Reach, kinds: tuple[str, ...], now: Reach) -> str:
    """Return the sign that an attempt has passed the point of the failure; an empty string without one.

    Args:
        failed: how far the failed attempt had come when the exception was raised.
        kinds: of the exception's evidence.
        now: how far the restarted attempt has come.
    """
    if now.checkpoint > failed.checkpoint:
        return f"its checkpoint {now.checkpoint} is whole"
    if not ABOUT_NODES.isdisjoint(kinds):
        if now.seconds >= seconds_past(failed, kinds):
            return f"it ran for {now.seconds:.0f} s"
    elif failed.progress is not None:
        further = now.progress is not None and now.progress > failed.progress
        return f"its progress came to {now.progress:g}" if further else ""
    elif risen := _risen(_both(now.steps, failed.steps)):
        name, number, before = risen
        return f"it came to {name} {number}, the failed attempt to {before}"
    elif now.seconds >= seconds_past(failed, kinds):
        return f"it ran for {now.seconds:.0f} s, the failed attempt for {failed.seconds:.0f} s"
    if failed.output >= 0 and now.output >= MORE * failed.output + MORE_BY:
        return f"it printed {now.output:,} bytes, the failed attempt {failed.output:,}"
    return ""


def last_steps(lines: Sequence[str]) -> Counters:
    """Return the counters of a program's work in its output, the outer ones first: names and last numbers.

    A counter that is printed more seldom than another one is the outer one; in the same lines the first is.

    Args:
        lines: the last lines of the output.
    """
    times: Counter[str] = Counter()
    last: dict[str, int | float] = {}
    full: dict[str, int] = {}  # the last number of each bar
    for line in _COLOUR.sub("", "\n".join(lines)).splitlines():  # a bar is written over by a carriage return
        if len(line) < 400 and not _UNSTEADY.search(line):
            counted = [(found[1].lower(), found[2]) for found in _STEP.finditer(line)]
            counted += [(found[1], found[2]) for found in _EPOCH.finditer(line)]
            bars = [(f"step (of {bar[2]})", bar[1], bar[2]) for bar in _BAR.finditer(line)]
            full |= {name: int(number) for name, _, number in bars}
            for name, number in (*counted, *(bar[:2] for bar in bars)):
                times[name] += 1
                last[name] = float(number) if "." in number else int(number)
    # A full bar, such as one of files that were loaded, is the same in each attempt.
    times = Counter({name: count for name, count in times.items() if last[name] != full.get(name)})
    return tuple((name, last[name]) for name in sorted(times, key=times.__getitem__))


def _both(now: Counters, before: Counters) -> list[tuple[str, int | float, int | float]]:
    """Return the counters that both attempts have, the outer ones first: name, new number, old number."""
    old = dict(before)
    return [(name, number, old[name]) for name, number in now if name in old]


def _risen(both: list[tuple[str, int | float, int | float]]) -> tuple[str, int | float, int | float] | None:
    """Return the outermost counter with another number, if the number has risen."""
    differs = next((each for each in both if each[1] != each[2]), None)
    return differs if differs is not None and differs[1] > differs[2] else None


def seconds_past(failed: Reach, kinds: tuple[str, ...]) -> float:
    """Return the run time in seconds after which a restarted attempt counts as past the point of the failure.

    Args:
        failed: how far the failed attempt had come.
        kinds: of the exception's evidence.
    """
    longer = LONGER * failed.seconds + LONGER_BY
    return longer if ABOUT_NODES.isdisjoint(kinds) else min(longer, NODE_SECONDS)
