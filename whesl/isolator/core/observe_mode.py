"""Observe mode: what would have been done about an exception is written down, no more. Pure."""

from __future__ import annotations

from whesl.isolator.core import recovery_decision
from whesl.isolator.core.transition import Transition
from whesl.model.evidence import Detected
from whesl.records import isolator as records


def observe(transition: Transition, found: Detected) -> None:
    """Observe mode: say once per attempt and exception what would have been done, and touch nothing."""
    became = recovery_decision.transformed(transition.state, found, transition.now)
    name = became.exception
    if name in transition.state.observed:
        if became.history != transition.state.history:
            # It is counted all the same: the n-th one may be a higher exception.
            of, history = transition.state.ordinal, became.history
            transition.record(
                records.Dropped(exception=name, of=of, evidence=found.evidence, history=history)
            )
        return
    raised = recovery_decision.raised(transition.state, found, became, transition.now)
    transition.record(records.Raised(raised=raised, history=became.history))
    spec = transition.rule(name)
    decision = recovery_decision.decide(transition.state, spec, raised, transition.now)
    transition.record(
        records.Observed(
            exception=name,
            ordinal=raised.ordinal,
            action=decision.action,
            reason=decision.reason,
            steps=decision.steps,
        )
    )
    transition.say(
        f"observed {name} ({recovery_decision.why(raised)}): would {decision.action}; nothing was touched"
    )
