"""How often an exception may be recovered from, and how long to wait first. Pure: the time is given."""

from __future__ import annotations

import msgspec

from whesl.esl.spec import ExceptionSpec, Otherwise

LONGEST_BACKOFF = 3600.0


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

    def decide(self, spec: ExceptionSpec, ordinal: int, now: float) -> Allowed | Spent:
        """Say whether an exception may be recovered from now.

        LIMIT n WITHIN s counts those of the last s seconds, LIMIT n all. The n-th recovery that counts
        waits ``backoff * 2**(n-1)`` s, at most an hour. A recovery asked for again after a crash (same
        ordinal) is judged as the first time.

        Args:
            spec: the exception.
            ordinal: the raised exception's number in its task.
            now: seconds, the clock that ``used`` is given.
        """
        counted = self._counted(spec, ordinal, now)
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

    def _counted(self, spec: ExceptionSpec, ordinal: int, now: float) -> int:
        reach = spec.limit_within
        return sum(
            use.ordinal != ordinal and (reach is None or now - use.time < reach)
            for use in self.uses.get(spec.name, ())
        )


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
