"""What the isolator cannot handle inside the allocation: told to the coordinator, waited for, then ended."""

from __future__ import annotations

from whesl.isolator.state import Phase
from whesl.isolator.turn import Turn
from whesl.model.states import TaskState
from whesl.wire.messages import Escalate, EscalationDecision

FAILED_WITHOUT_STATUS = 1
EXIT_TEMPORARY = 75  # EX_TEMPFAIL of sysexits.h: the same job may succeed later
REASONS = frozenset({"spares-exhausted", "budget-spent", "allocation-lost", "handler-failed"})


def send(turn: Turn) -> None:
    """Give the decision up to the coordinator, and wait for it, bounded."""
    recovery = turn.recovery()
    spec = turn.rule(recovery.raised.exception)
    word = recovery.reason.split(":", 1)[0]
    reason = word if word in REASONS else "handler-failed"
    turn.send(
        Escalate(
            raised=recovery.raised,
            reason=reason,
            escalate_to=spec.escalate_to,
            claim=turn.state.setup.claim,
        )
    )
    turn.wake(turn.state.since + turn.state.setup.coordinator_wait)


def on_decision(turn: Turn, decision: EscalationDecision) -> None:
    """What becomes of the escalated task."""
    state = turn.state
    recovery = state.recovery
    if state.phase is not Phase.ESCALATED or recovery is None or recovery.ordinal != decision.ordinal:
        return
    name = recovery.raised.exception
    reason = decision.reason or recovery.reason
    if decision.action == "pause":
        turn.record("paused", ordinal=recovery.ordinal, reason=f"{name}: {reason}")
        turn.report_recovery(recovery, "paused")
    elif decision.action == "requeue":
        turn.report_recovery(recovery, "escalated")
        turn.finish(EXIT_TEMPORARY, TaskState.ESCALATED, f"{name}: the job is run again: {reason}")
    else:
        turn.report_recovery(recovery, "failed")
        turn.finish(state.exit_code or FAILED_WITHOUT_STATUS, TaskState.FAILED, f"{name}: {reason}")


def check(turn: Turn) -> None:
    """End the wait for the coordinator's decision when its limit has come."""
    state = turn.state
    deadline = state.since + state.setup.coordinator_wait
    if turn.now < deadline:
        turn.wake(deadline)
        return
    recovery = turn.recovery()
    reason = f"{recovery.reason}; the coordinator did not decide within {state.setup.coordinator_wait:g} s"
    turn.finish(EXIT_TEMPORARY, TaskState.FAILED, f"{recovery.raised.exception}: {reason}")
