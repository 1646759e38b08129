"""How often an exception may be recovered from, and how long to wait first. Pure: the time is given."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from whesl.language.spec import ExceptionSpec, Otherwise
from whesl.model.evidence import Advice, Cause, Raised, shortened
from whesl.model.recovery_criterion import Furthest

LONGEST_BACKOFF = 3600.0
SURE = 0.5  # certainty of a cause from which on it ends recoveries
_TEXT = 120  # characters of a cause's line
_NUMBERS = re.compile(r"0x[0-9a-f]+|\d+")


class Use(msgspec.Struct, frozen=True):
    """One recovery: the exception's ordinal in its task, and when it was decided (s)."""

    ordinal: int
    time: float


class Allowed(msgspec.Struct, frozen=True):
    """Recover, after ``wait`` seconds."""

    wait: float


class Spent(msgspec.Struct, frozen=True):
    """The budget is spent: what happens instead; what ESCALATE raises (None: the coordinator's default)."""

    otherwise: Otherwise
    escalate_to: str | None


class Budget(msgspec.Struct, frozen=True):
    """What a task's exceptions have used, by name. Its JSON is its snapshot."""

    uses: dict[str, tuple[Use, ...]] = {}

    def decide(self, spec: ExceptionSpec, ordinal: int, now: float, advanced: int = 0) -> Allowed | Spent:
        """Say whether an exception may be recovered from now.

        LIMIT n counts all recoveries, WITHIN s those of the last s seconds, WITHOUT PROGRESS those since the
        task last got further. The n-th recovery that counts waits ``backoff * 2**(n-1)`` s, at most an hour.
        A recovery asked for again after a crash (same ordinal) is judged as the first time.

        Args:
            spec: the exception.
            ordinal: the raised exception's number in its task.
            now: seconds, the clock that ``used`` is given.
            advanced: the exception from which on recoveries count (``Course``); 0: all of them.
        """
        counted = self._counted(spec, ordinal, now, advanced)
        if counted >= spec.limit:
            return Spent(spec.otherwise, spec.escalate_to)
        return Allowed(backoff(spec.backoff, counted))

    def used(self, spec: ExceptionSpec, ordinal: int, now: float) -> Budget:
        """Return the budget after a recovery; the same ordinal counts once. Uses out of reach are dropped."""
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
    """How a task went on from one exception to the next.

    Attributes:
        furthest: how far its attempts had come in all.
        advanced: the ordinal of the last exception before which it had got further than ever; 0: none.
        again: the error that has come twice at the same place and that no restart mends; "" for none.
    """

    furthest: Furthest = Furthest()
    advanced: int = 0
    again: str = ""


def course(raised: Iterable[Raised]) -> Course:
    """Return how a task went on, up to the last one of its exceptions.

    Args:
        raised: all of them, in order.
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
    """Whether an attempt died of the same cause as the one before, a cause that no restart mends."""
    if before is None or now.advice is not Advice.NONE or now.sure < SURE:
        return False
    return before.cause is now.cause and _NUMBERS.sub("", before.text) == _NUMBERS.sub("", now.text)


def backoff(first: float, before: int) -> float:
    """Return the wait (s) after ``before`` recoveries: ``first`` doubled each time, at most an hour."""
    if first <= 0.0:
        return 0.0
    # 2.0**64 seconds are beyond any cap, and larger powers would overflow.
    return min(first * 2.0 ** min(before, 64), LONGEST_BACKOFF)


def snapshot(budget: Budget) -> bytes:
    """Return a budget as JSON."""
    return msgspec.json.encode(budget)


def restore(data: bytes) -> Budget:
    """Return a snapshot's budget. Raises msgspec.ValidationError or DecodeError for anything else."""
    return msgspec.json.decode(data, type=Budget)
