"""Exceptions that are raised from outside: by a person, a monitoring tool, a predictor. Pure.

From here on they are what a detector's are: counted, transformed, limited, recovered and reported.
"""

from __future__ import annotations

from whesl.isolator.core import recovery, rules
from whesl.isolator.core.state import Phase
from whesl.isolator.core.transition import Transition
from whesl.model.evidence import Detected, Evidence
from whesl.model.outcomes import ControlAction
from whesl.model.printable import visible
from whesl.records import isolator as records
from whesl.wire.messages import RaiseException

MOST_EVIDENCE = 4096
FROM_OUTSIDE = "raised from outside"


def on_raise(transition: Transition, message: RaiseException) -> None:
    """Take an exception, once for its id; what a recovery is under way for is raised when that is done."""
    state = transition.state
    if message.id in state.controls:
        return
    taken = ControlAction.RAISE
    transition.record(
        records.Control(id=message.id, action=taken, exception=message.exception, node=message.node)
    )
    reason = _why_not(transition, message)
    if reason:
        transition.say(f"{message.exception} was raised from outside to no effect: {reason}")
        return
    why = visible(message.evidence.strip())[:MOST_EVIDENCE]
    evidence = Evidence(
        kind="external",
        time=transition.now,
        node=message.node,
        detail=f"{FROM_OUTSIDE}: {why}" if why else FROM_OUTSIDE,
    )
    found = Detected(exception=message.exception, evidence=(evidence,))
    recovery.consider(transition, (found,), node=message.node, waits=True)


def _why_not(transition: Transition, message: RaiseException) -> str:
    state = transition.state
    if not rules.covers(state, message.exception):
        return "the rules do not have it for this task"
    if state.phase is Phase.STOPPING:
        return "the task is being ended"
    if message.node and message.node not in (*state.nodes.active, *_not_chosen(transition)):
        return f"node {message.node} is in use no more"
    return ""


def _not_chosen(transition: Transition) -> tuple[str, ...]:
    """Return all nodes of the allocation while it is open which are used."""
    return transition.state.setup.nodes if transition.state.phase is Phase.NEW else ()
