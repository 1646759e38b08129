"""Exceptions that the isolator cannot handle inside the allocation, and leaves to the coordinator."""

from __future__ import annotations

from whesl.model.outcomes import RecoveryOutcome, Verdict
from whesl.model.states import TaskState
from whesl.runtime.isolator.core.state import Phase
from whesl.runtime.isolator.core.transition_context import Transition
from whesl.runtime.journal.records import isolator_records as records
from whesl.runtime.wire.messages import Escalate, EscalationDecision

FAILED_WITHOUT_STATUS = 1
EXIT_TEMPORARY = 75  # EX_TEMPFAIL of sysexits.h: the same job may succeed later
REASONS = frozenset({"spares-exhausted", "budget-spent", "allocation-lost", "handler-failed"})


def send(transition: Transition) -> None:
    """Escalate the task to the coordinator, and wait a limited time for the decision."""
    recovery = transition.recovery()
    spec = transition.rule(recovery.raised.exception)
    word = recovery.reason.split(":", 1)[0]
    reason = word if word in REASONS else "handler-failed"
    transition.send(
        Escalate(
            raised=recovery.raised,
            reason=reason,
            escalate_to=spec.escalate_to,
            claim=transition.state.setup.claim,
        )
    )
    transition.wake(transition.state.since + transition.state.setup.coordinator_wait)


def on_decision(transition: Transition, decision: EscalationDecision) -> None:
    """Take the coordinator's decision about the escalated task.

    Args:
        transition: the present transition.
        decision: pause, requeue or fail, for the exception of an ordinal; a decision for another ordinal than
            the escalated one changes nothing.
    """
    state = transition.state
    recovery = state.recovery
    if state.phase is not Phase.ESCALATED or recovery is None or recovery.ordinal != decision.ordinal:
        return
    name = recovery.raised.exception
    reason = decision.reason or recovery.reason
    if decision.action is Verdict.PAUSE:
        transition.record(records.Paused(ordinal=recovery.ordinal, reason=f"{name}: {reason}"))
        transition.report_recovery(recovery, RecoveryOutcome.PAUSED)
    elif decision.action is Verdict.REQUEUE:
        transition.report_recovery(recovery, RecoveryOutcome.ESCALATED)
        transition.finish(EXIT_TEMPORARY, TaskState.ESCALATED, f"{name}: the job is run again: {reason}")
    else:
        transition.report_recovery(recovery, RecoveryOutcome.FAILED)
        transition.finish(state.exit_code or FAILED_WITHOUT_STATUS, TaskState.FAILED, f"{name}: {reason}")


def check(transition: Transition) -> None:
    """End the wait for the coordinator's decision at the wait's limit."""
    state = transition.state
    deadline = state.since + state.setup.coordinator_wait
    if transition.now < deadline:
        transition.wake(deadline)
        return
    recovery = transition.recovery()
    reason = f"{recovery.reason}; the coordinator did not decide within {state.setup.coordinator_wait:g} s"
    transition.finish(EXIT_TEMPORARY, TaskState.FAILED, f"{recovery.raised.exception}: {reason}")
