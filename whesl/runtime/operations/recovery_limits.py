"""Limits of recoveries from an exception, and the wait before each recovery. Pure: time is an argument."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from whesl.language.spec import LONGEST_BACKOFF, ExceptionSpec
from whesl.model.evidence import Advice, Cause, Raised, shortened
from whesl.model.recovery_criterion import Furthest

SURE = 0.5  # the least certainty with which a diagnosed cause ends recoveries
_TEXT = 120  # the most characters of a cause's line
_NUMBERS = re.compile(r"0x[0-9a-f]+|\d+")


class Use(msgspec.Struct, frozen=True):
    """One recovery: the exception's ordinal in its task, and the time of the decision (s)."""

    ordinal: int
    time: float


class Budget(msgspec.Struct, frozen=True):
    """The recoveries that a task's exceptions have used, by the exceptions' names."""

    uses: dict[str, tuple[Use, ...]] = {}

    def decide(self, spec: ExceptionSpec, ordinal: int, now: float, advanced: int = 0) -> float | None:
        """Return the wait (s) before a recovery from an exception; None where the limit allows no recovery.

        LIMIT n counts all recoveries, WITHIN s those of the last s seconds, WITHOUT PROGRESS those since the
        task's last progress. The n-th counted recovery waits ``backoff * 2**(n-1)`` s, at most an hour. A
        second call for the same ordinal, after a crash, has the result of the first.

        Args:
            spec: the exception.
            ordinal: the raised exception's number in its task.
            now: seconds, by the same clock as in ``used``.
            advanced: the ordinal from which on recoveries count (``Course``); 0: all recoveries count.
        """
        counted = self._counted(spec, ordinal, now, advanced)
        return None if counted >= spec.limit else backoff(spec.backoff, counted)

    def used(self, spec: ExceptionSpec, ordinal: int, now: float) -> Budget:
        """Return the budget after a recovery; each ordinal counts once. Uses that no limit needs are dropped.

        Args:
            spec: the exception.
            ordinal: the raised exception's number in its task.
            now: seconds since the epoch.
        """
        present = self.uses.get(spec.name, ())
        if any(use.ordinal == ordinal for use in present):
            return self
        reach = spec.limit_within
        kept = tuple(use for use in present if reach is None or now - use.time < reach)
        return Budget({**self.uses, spec.name: (*kept, Use(ordinal, now))})

    def _counted(self, spec: ExceptionSpec, ordinal: int, now: float, since: int) -> int:
        reach = spec.limit_within
        return sum(
            use.ordinal != ordinal and use.ordinal >= since and (reach is None or now - use.time < reach)
            for use in self.uses.get(spec.name, ())
        )


class Course(msgspec.Struct, frozen=True, kw_only=True):
    """A task's progress over its exceptions.

    Attributes:
        furthest: the furthest progress of its attempts.
        advanced: the ordinal of the last exception before which the task had progressed further than ever
            before; 0: none.
        again: the error that has occurred twice at the same place and that no restart mends; "" for none.
    """

    furthest: Furthest = Furthest()
    advanced: int = 0
    again: str = ""


def course(raised: Iterable[Raised]) -> Course:
    """Return a task's progress up to its last exception.

    Args:
        raised: all exceptions of the task, in order.
    """
    furthest, advanced = Furthest(), 0
    attempts: dict[int, Raised] = {}  # the last exception of each attempt
    for item in raised:
        if furthest.passed_by(item.reached):
            advanced = item.ordinal
        furthest = furthest.taking(item.reached)
        attempts[item.attempt] = item
    again = ""
    if len(attempts) > 1:
        before, last = list(attempts.values())[-2:]
        if advanced < last.ordinal and last.cause is not None and _is_same(before.cause, last.cause):
            again = shortened(last.cause.text, _TEXT)
    return Course(furthest=furthest, advanced=advanced, again=again)


def _is_same(before: Cause | None, now: Cause) -> bool:
    """Whether an attempt had the same cause of failure as the one before, and no restart mends that cause."""
    if before is None or now.advice is not Advice.NONE or now.sure < SURE:
        return False
    return before.cause is now.cause and _NUMBERS.sub("", before.text) == _NUMBERS.sub("", now.text)


def backoff(first: float, before: int) -> float:
    """Return the wait (s) after ``before`` recoveries: ``first`` doubled each time, at most an hour.

    Args:
        first: the first wait, seconds.
        before: the number of earlier recoveries.
    """
    if first <= 0.0:
        return 0.0
    # 2.0**64 seconds are beyond any cap, and larger powers would overflow.
    return min(first * 2.0 ** min(before, 64), LONGEST_BACKOFF)
