"""Whether restarts were recoveries: the record ``recovered``, by ``whesl.model.recovery_criterion``."""

from __future__ import annotations

import msgspec

from whesl.isolator.core.state import Phase
from whesl.isolator.core.transition import Transition
from whesl.model.evidence import Raised
from whesl.model.recovery_criterion import Reach, seconds_past, went_past
from whesl.records import isolator as records

# Seconds between two looks at an attempt whose output or progress may yet come to more.
AGAIN = 60.0


def judge(transition: Transition) -> None:
    """Write down which exceptions the present attempt has gone past, and ask for a tick for the others."""
    state = transition.state
    if state.phase is not Phase.RUNNING or not state.restarted:
        return
    ran = max(transition.now - state.attempt_started, 0.0)
    now = msgspec.structs.replace(state.reached or Reach(), seconds=ran)
    past: dict[str, list[Raised]] = {}
    for raised in state.restarted:
        if because := went_past(raised.reached, raised.kinds, now):
            past.setdefault(because, []).append(raised)
    for because, exceptions in past.items():
        _write(transition, exceptions, because)
    for raised in transition.state.restarted:
        due = state.attempt_started + seconds_past(raised.reached, raised.kinds)
        transition.wake(due if due > transition.now else transition.now + AGAIN)


def completed(transition: Transition) -> None:
    """The task is about to complete: what its last attempt was restarted for is recovered."""
    if exceptions := (*(done.raised for done in transition.state.pending), *transition.state.restarted):
        _write(transition, exceptions, "the task completed")


def _write(transition: Transition, exceptions: list[Raised] | tuple[Raised, ...], because: str) -> None:
    ordinals = tuple(raised.ordinal for raised in exceptions)
    names = tuple(raised.exception for raised in exceptions)
    transition.record(
        records.Recovered(
            ordinals=ordinals, exceptions=names, attempt=transition.state.attempt, because=because
        )
    )
    transition.say(f"recovered from {', '.join(dict.fromkeys(names))}: {because}")
