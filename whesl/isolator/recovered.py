"""Whether restarts were recoveries: the record ``recovered``, by the rule of ``whesl.model.reach``."""

from __future__ import annotations

import msgspec

from whesl.isolator.state import Phase
from whesl.isolator.turn import Turn
from whesl.model.evidence import Raised
from whesl.model.reach import Reach, seconds_past, went_past

# Seconds between two looks at an attempt whose output or progress may yet come to more.
AGAIN = 60.0


def judge(turn: Turn) -> None:
    """Write down which exceptions the present attempt has gone past, and ask for a tick for the others."""
    state = turn.state
    if state.phase is not Phase.RUNNING or not state.restarted:
        return
    ran = max(turn.now - state.attempt_started, 0.0)
    now = msgspec.structs.replace(state.reached or Reach(), seconds=ran)
    past: dict[str, list[Raised]] = {}
    for raised in state.restarted:
        if because := went_past(raised.reached, raised.kinds, now):
            past.setdefault(because, []).append(raised)
    for because, exceptions in past.items():
        _write(turn, exceptions, because)
    for raised in turn.state.restarted:
        due = state.attempt_started + seconds_past(raised.reached, raised.kinds)
        turn.wake(due if due > turn.now else turn.now + AGAIN)


def completed(turn: Turn) -> None:
    """The task is about to complete: what its last attempt was restarted for is recovered."""
    if exceptions := (*(done.raised for done in turn.state.pending), *turn.state.restarted):
        _write(turn, exceptions, "the task completed")


def _write(turn: Turn, exceptions: list[Raised] | tuple[Raised, ...], because: str) -> None:
    ordinals = [raised.ordinal for raised in exceptions]
    names = [raised.exception for raised in exceptions]
    turn.record("recovered", ordinals=ordinals, exceptions=names, attempt=turn.state.attempt, because=because)
    turn.say(f"recovered from {', '.join(dict.fromkeys(names))}: {because}")
