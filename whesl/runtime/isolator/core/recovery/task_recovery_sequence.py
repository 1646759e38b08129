"""From a detection to a restarted task: raise, decide, fence, ask, step, relaunch.

Each function records its decisions, and may be called again after a crash: it starts from the recorded state.
"""

from __future__ import annotations

from typing import Any

import msgspec

from whesl.language.spec import ExceptionSpec, Level, Otherwise
from whesl.model.evidence import STOPPED, Detected, Evidence, Raised, grouped
from whesl.model.outcomes import Action, RecoveryOutcome
from whesl.model.states import TaskState
from whesl.runtime.isolator.core import lost_nodes, resource_manager_exceptions, task_setup
from whesl.runtime.isolator.core.events_and_commands import CollectEvidence, RunStep, StartAttempt
from whesl.runtime.isolator.core.recovery import (
    checkpoint_first,
    escalation_to_coordinator,
    node_selection,
    recovery_decision,
)
from whesl.runtime.isolator.core.recovery.escalation_to_coordinator import (
    EXIT_TEMPORARY,
    FAILED_WITHOUT_STATUS,
)
from whesl.runtime.isolator.core.state import Phase, Recovery
from whesl.runtime.isolator.core.transition_context import Transition, merged
from whesl.runtime.journal.records import isolator_records as records
from whesl.runtime.wire.messages import RecoveryGrant

LAST_WORDS = 1.0
_TIMERS = frozenset({"hang", "silence", STOPPED, "progress"})
_WAITS = (Phase.NEW, Phase.FENCING, Phase.GRANT, Phase.STEPS, Phase.BACKOFF, Phase.PAUSED, Phase.ESCALATED)


def consider(
    transition: Transition, found: tuple[Detected, ...], *, node: str = "", waits: bool = False
) -> None:
    """Raise the first of the detections; the others are dropped as its consequences, or queued.

    Args:
        found: the detections in the present attempt, in order.
        node: the node that the detections are about; '' for detections in the attempt's output.
        waits: whether the detections have another cause than the present recovery, and so wait for its end.
    """
    if transition.state.setup.observe:
        recovery_decision.observe(transition, found)
        return
    for item in grouped(found):
        state = transition.state
        if state.phase in (Phase.RUNNING, Phase.LAUNCHING):
            _raise(transition, item)
        elif (node or waits) and state.phase in _WAITS and not _same_cause(state.recovery, item, node):
            transition.record(records.Queued(found=item, node=node))
        else:
            transition.drop(item, state.recovery.ordinal if state.recovery else None)
    if transition.state.phase is Phase.BACKOFF:
        launch_when_due(transition)


def _same_cause(recovery: Recovery | None, found: Detected, node: str) -> bool:
    if recovery is None:
        return False
    if node:
        return node in recovery_decision.nodes_of(recovery.raised.evidence)
    return found.exception in (recovery.raised.exception, *recovery.raised.transformed_from)


def _raise(transition: Transition, found: Detected, *, queued: bool = False) -> bool:
    """Raise the exception of a detection; return False when the exception needs no action."""
    became = recovery_decision.transformed(transition.state, found, transition.now)
    if not queued and checkpoint_first.ask(transition, found, became):
        return True
    raised = recovery_decision.raised(transition.state, found, became, transition.now)
    if checkpoint_first.stays(transition, found, raised):
        return False
    taken = found.exception if queued else None
    transition.record(records.Raised(raised=raised, queued=taken, history=became.history))
    decide(transition, transition.rule(raised.exception), raised)
    return True


def raise_lost(transition: Transition) -> bool:
    """Raise the rules' exception for a lost node on which the next attempt would have to start.

    The loss may have been reported before the first attempt, by fencing, or to a restarted isolator, when no
    exception could be raised. Returns False when no exception is raised.
    """
    state = transition.state
    gone = node_selection.dead(state)
    name = recovery_decision.of_lost_nodes(state)
    if not gone or not name:
        return False
    evidence = Evidence(kind="node", time=transition.now, node=gone[0], detail=node_selection.too_few(state))
    word = Detected(exception=name, evidence=(evidence,))
    if state.setup.observe:
        recovery_decision.observe(transition, (word,))
        return False
    became = recovery_decision.transformed(state, word, transition.now)
    raised = recovery_decision.raised(state, word, became, transition.now)
    transition.record(records.Raised(raised=raised, queued=None, history=became.history))
    # An earlier recovery from the loss of this node has left the node in use; another one would do no better.
    tried = any(
        item.raised.exception == raised.exception
        and gone[0] in recovery_decision.nodes_of(item.raised.evidence)
        for item in state.pending
    )
    hopeless = f"spares-exhausted: {evidence.detail}" if tried else ""
    decide(transition, transition.rule(raised.exception), raised, hopeless=hopeless)
    return True


def give_up(transition: Transition, evidence: Evidence, reason: str) -> None:
    """Carry out the ELSE of the recovery's exception, since the next attempt cannot be started.

    Args:
        transition: the present transition.
        evidence: why the attempt cannot be started.
        reason: the same as text, the reason for the ELSE.
    """
    state = transition.state
    if not state.pending:
        transition.finish(EXIT_TEMPORARY, TaskState.FAILED, reason)
        return
    last = state.pending[-1].raised
    raised = msgspec.structs.replace(
        last, ordinal=state.ordinal + 1, time=transition.now, evidence=(*last.evidence, evidence)
    )
    transition.record(records.Raised(raised=raised, queued=None))
    decide(transition, transition.rule(raised.exception), raised, hopeless=reason)


def decide(transition: Transition, spec: ExceptionSpec, raised: Raised, *, hopeless: str = "") -> None:
    """Decide about a raised exception, and act on it.

    Args:
        transition: the present transition.
        spec: the exception's specification.
        raised: the occurrence of the exception, already recorded.
        hopeless: why no recovery would help, so that the ELSE follows; '' where one may.
    """
    checkpoint_first.drop(transition, f"the program was ended for {raised.exception}")
    state = transition.state
    decision = recovery_decision.decide(state, spec, raised, transition.now)
    if hopeless and decision.action is Action.RECOVER:
        decision = recovery_decision.Decision(
            action=Action(spec.otherwise.value.lower()), reason=hopeless, steps=decision.steps
        )
    wanted = spec.level is Level.WORKFLOW_LEVEL and state.setup.coordinator
    request = wanted and decision.action is Action.RECOVER
    transition.record(
        records.Decided(
            exception=raised.exception,
            ordinal=raised.ordinal,
            action=decision.action,
            reason=decision.reason,
            level=spec.level,
            steps=checkpoint_first.after(decision.steps),
            backoff=decision.backoff,
            request=request,
        )
    )
    because = f", {decision.reason}" if decision.reason else ""
    transition.say(f"raised {raised.exception} ({recovery_decision.why(raised)}): {decision.action}{because}")
    resource_manager_exceptions.announce(transition, spec, raised)
    if request:
        request_grant(transition)
    if state.alive and any(item.kind in _TIMERS for item in raised.evidence):
        transition.do(CollectEvidence(attempt=state.attempt))
    elif state.alive and decision.action is Action.FAIL:
        # No restart follows, so the attempt's program may end by itself, with its own status.
        transition.wake(transition.now + LAST_WORDS)
        return
    fence(transition)


def fence_when_due(transition: Transition) -> None:
    """Fence an attempt whose time to end by itself (``LAST_WORDS``) is over."""
    state = transition.state
    if state.recovery is None or state.recovery.action is not Action.FAIL or state.recovery.fenced:
        return
    if transition.now >= state.recovery.decided + LAST_WORDS:
        fence(transition)
    else:
        transition.wake(state.recovery.decided + LAST_WORDS)


def request_grant(transition: Transition) -> None:
    """Ask the coordinator for its part of the recovery; the coordinator recognises repeated requests."""
    recovery = transition.recovery()
    if recovery.requested is None:
        transition.record(records.Requested(ordinal=recovery.ordinal))
    transition.send(recovery_decision.request(transition.state, recovery.raised))


def fence(transition: Transition) -> None:
    """Kill every process of the present attempt on all nodes."""
    state = transition.state
    recovery = state.recovery
    if state.attempt == 0 and recovery is not None and not recovery.fenced:
        transition.record(records.Fenced(attempt=0, seconds=0.0))
        proceed(transition)
    elif state.attempt == 0 or (recovery is not None and recovery.fenced):
        proceed(transition)
    else:
        transition.end_attempt()


def proceed(transition: Transition) -> None:
    """Take the next action of the recovery under way, or of a requested stop."""
    state = transition.state
    recovery = state.recovery
    if state.phase is Phase.STOPPING:
        transition.finish(*lost_nodes.stopped(state, state.stop_code))
        return
    if state.phase in (Phase.PAUSED, Phase.ESCALATED, Phase.FINISHED):
        return
    if recovery is None:
        if state.phase in (Phase.FENCING, Phase.BACKOFF):
            launch_when_due(transition)
        return
    if not recovery.fenced:
        return
    if recovery.action is not Action.RECOVER:
        _conclude(transition, recovery)
    elif recovery.request and not recovery.granted:
        _wait_for_grant(transition, recovery)
    elif recovery.done < len(recovery.steps):
        transition.record(records.StepBegun(ordinal=recovery.ordinal, index=recovery.done))
        transition.do(RunStep(ordinal=recovery.ordinal, index=recovery.done))
    else:
        not_before = recovery.decided + recovery.backoff
        transition.record(
            records.Relaunched(ordinal=recovery.ordinal, attempt=state.attempt + 1, not_before=not_before)
        )
        launch_when_due(transition)


def _wait_for_grant(transition: Transition, recovery: Recovery) -> None:
    state = transition.state
    if state.phase is not Phase.GRANT:
        transition.record(records.WaitsForGrant(ordinal=recovery.ordinal))
    wait = state.setup.coordinator_wait
    if recovery.requested is None:
        request_grant(transition)
    transition.wake((transition.recovery().requested or transition.now) + wait)
    say_waiting(transition)


def say_waiting(transition: Transition) -> None:
    """Report once that a recovery waits for an absent coordinator, and for how long at most."""
    state = transition.state
    waits = state.phase is Phase.GRANT and not state.connected
    if not waits or state.said_waiting or state.recovery is None:
        return
    transition.volatile(said_waiting=True)
    deadline = (state.recovery.requested or transition.now) + state.setup.coordinator_wait
    transition.say(
        f"waiting for the coordinator, at most {max(deadline - transition.now, 0.0):.0f} s: "
        f"{state.recovery.raised.exception} needs its part"
    )


def on_grant(transition: Transition, grant: RecoveryGrant) -> None:
    """Continue a recovery after the coordinator has done its part, or has refused.

    Args:
        transition: the step of the state machine, which collects records and commands.
        grant: the coordinator's answer.
    """
    recovery = transition.state.recovery
    if recovery is None or recovery.ordinal != grant.ordinal or recovery.granted or not recovery.request:
        return
    # A grant for a paused or escalated task changes no decision; it is recorded for the resumed recovery.
    undecided = recovery.action is Action.RECOVER and transition.state.phase in (Phase.FENCING, Phase.GRANT)
    if grant.refused:
        if undecided:
            reason = f"the coordinator could not do its part: {grant.refused}"
            instead(transition, otherwise_of(transition, recovery), reason)
        return
    became: dict[str, Any] = {}
    if grant.transformed and recovery_decision.covers(transition.state, grant.transformed):
        origins = (*recovery.raised.transformed_from, recovery.raised.exception)
        raised = msgspec.structs.replace(
            recovery.raised, exception=grant.transformed, transformed_from=origins
        )
        decision = recovery_decision.decide(
            transition.state, transition.rule(grant.transformed), raised, transition.now
        )
        if decision.action is not Action.RECOVER and not undecided:
            return
        transition.say(f"{recovery.raised.exception} became {grant.transformed}, counted over all tasks")
        if decision.action is not Action.RECOVER:
            instead(transition, decision.action, decision.reason, became=grant.transformed)
            return
        became = {"raised": raised, "steps": decision.steps}
    transition.record(
        records.Granted(
            ordinal=grant.ordinal,
            configuration=merged(transition.state.configuration, grant.configuration),
            coordinator_version=max(transition.state.coordinator_version, grant.configuration.version),
            **became,
        )
    )
    proceed(transition)


def check_grant(transition: Transition) -> None:
    """End the wait for the coordinator's grant at the wait's limit."""
    recovery = transition.state.recovery
    wait = transition.state.setup.coordinator_wait
    if recovery is None or recovery.requested is None:
        return
    if transition.now >= recovery.requested + wait:
        reason = f"the coordinator did not answer within {wait:g} s"
        instead(transition, otherwise_of(transition, recovery), reason)
    else:
        transition.wake(recovery.requested + wait)


def otherwise_of(transition: Transition, recovery: Recovery) -> Action:
    """Return the specification's action for an impossible recovery: fail, pause or escalate.

    Args:
        transition: the step of the state machine, which collects records and commands.
        recovery: the impossible recovery.
    """
    return Action(transition.rule(recovery.raised.exception).otherwise.value.lower())


def instead(transition: Transition, action: Action, reason: str, *, became: str = "") -> None:
    """Fail, pause or escalate, since the recovery is impossible.

    Args:
        action: fail, pause or escalate.
        reason: why the recovery is impossible.
        became: the exception to which the coordinator's count transformed this one; '' for none.
    """
    recovery = transition.recovery()
    transition.record(
        records.Otherwise(ordinal=recovery.ordinal, action=action, reason=reason, became=became)
    )
    transition.say(f"{recovery.raised.exception}: {action}, because {reason}")
    if transition.recovery().fenced or transition.state.unconfirmed:
        _conclude(transition, transition.recovery())


def _conclude(transition: Transition, recovery: Recovery) -> None:
    state = transition.state
    reason = recovery_decision.with_evidence(recovery.raised, recovery.reason)
    if recovery.action is Action.PAUSE:
        transition.record(records.Paused(ordinal=recovery.ordinal, reason=reason))
        transition.report_recovery(recovery, RecoveryOutcome.PAUSED)
    elif recovery.action is Action.ESCALATE:
        _escalate(transition, recovery)
    else:
        transition.report_recovery(recovery, RecoveryOutcome.FAILED)
        code = state.exit_code or FAILED_WITHOUT_STATUS
        transition.finish(code, TaskState.FAILED, reason)


def _escalate(transition: Transition, recovery: Recovery) -> None:
    """Raise the exception that ESCALATE names, if the task has it; else escalate to the coordinator."""
    state = transition.state
    spec = transition.rule(recovery.raised.exception)
    higher = spec.escalate_to if spec.otherwise is Otherwise.ESCALATE else None
    chain = (*recovery.raised.transformed_from, recovery.raised.exception)
    if higher is not None and higher not in chain and recovery_decision.covers(state, higher):
        raised = msgspec.structs.replace(
            recovery.raised,
            exception=higher,
            attempt=state.attempt,
            ordinal=state.ordinal + 1,
            time=transition.now,
            transformed_from=chain,
        )
        transition.record(records.Raised(raised=raised, queued=None))
        decide(transition, transition.rule(higher), raised)
        return
    transition.record(records.Escalated(ordinal=recovery.ordinal, reason=recovery.reason))
    escalation_to_coordinator.send(transition)
    if not state.setup.coordinator:
        transition.finish(EXIT_TEMPORARY, TaskState.FAILED, f"{recovery.raised.exception}: {recovery.reason}")


def launch_when_due(transition: Transition) -> None:
    """Start the next attempt, once no exception is queued and the back-off is over."""
    if raise_queued(transition):
        return
    state = transition.state
    not_before = max((item.not_before for item in state.pending), default=0.0)
    if state.phase is Phase.BACKOFF and transition.now < not_before:
        transition.wake(not_before)
        return
    placed = node_selection.place(transition)
    if placed is node_selection.Places.TOO_FEW:
        if not raise_lost(transition):
            evidence = Evidence(kind="node", time=transition.now, detail=node_selection.too_few(state))
            give_up(transition, evidence, f"spares-exhausted: {evidence.detail}")
    elif placed is node_selection.Places.READY:
        start_attempt(transition, state.attempt + 1)


def raise_queued(transition: Transition) -> bool:
    """Raise the first queued exception; drop queued exceptions about nodes that are no longer in use."""
    while transition.state.queued:
        found = transition.state.queued[0]
        about = set(recovery_decision.nodes_of(found.evidence))
        if not about or about & set(transition.state.nodes.active):
            if _raise(transition, found, queued=True):
                return True
            continue
        transition.drop(found)
    return False


def start_attempt(transition: Transition, number: int) -> None:
    """Record the next attempt, then start it.

    Args:
        transition: the step of the state machine, which collects records and commands.
        number: the number of the attempt, from 1.
    """
    state = transition.state
    token = task_setup.token(state.setup, number)
    transition.record(
        records.Attempt(
            attempt=number,
            token=token,
            nodes=state.nodes.active,
            configuration_version=state.configuration.version,
        )
    )
    transition.do(
        StartAttempt(
            attempt=number,
            token=token,
            configuration=state.configuration,
            nodes=state.nodes,
            lingering=state.lingering,
        )
    )
