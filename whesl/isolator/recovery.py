"""From a detector's word to a restarted task: raise, decide, fence, ask, step, relaunch.

Each function takes the turn, writes down what it decides, and asks for what follows; all of them may be
called again after a crash, since they start from the written state.
"""

from __future__ import annotations

from typing import Any

import msgspec

from whesl.esl.spec import ExceptionSpec, Level, Otherwise
from whesl.isolator import announce, escalation, placing, rules, setup
from whesl.isolator.escalation import EXIT_TEMPORARY, FAILED_WITHOUT_STATUS
from whesl.isolator.events import (
    CollectEvidence,
    EvidenceCollected,
    Found,
    KillAttempt,
    KillConfirmed,
    KillUnconfirmed,
    RunStep,
    StartAttempt,
)
from whesl.isolator.state import Phase, Recovery, State
from whesl.isolator.turn import Turn, merged
from whesl.model.evidence import Evidence, Raised
from whesl.model.states import TaskState
from whesl.wire.messages import RecoveryGrant, RecoveryRequest

LAST_WORDS = 1.0
FENCE_RETRY = 5.0
FENCE_LIMIT = 120.0
_ABOUT_NODES = frozenset({"node", "heartbeat", "job-exception"})
_TIMERS = frozenset({"hang", "silence", "progress"})
_WAITS = (Phase.FENCING, Phase.GRANT, Phase.STEPS, Phase.BACKOFF, Phase.PAUSED, Phase.ESCALATED)


def consider(turn: Turn, found: tuple[Found, ...], *, node: str = "") -> None:
    """Raise the first of what was found; the others are its cascade, or wait for the present recovery.

    Args:
        found: detectors' words about the present attempt, in order.
        node: set when they are about a node and not about the attempt's output.
    """
    for item in found:
        state = turn.state
        if state.setup.observe:
            _observe(turn, item)
        elif state.phase in (Phase.RUNNING, Phase.LAUNCHING):
            _raise(turn, item)
        elif node and state.phase in _WAITS and not _same_cause(state.recovery, node):
            turn.record("queued", found=item, node=node)
        else:
            ordinal = state.recovery.ordinal if state.recovery else state.ordinal
            turn.record("dropped", exception=item.exception, of=ordinal, evidence=item.evidence)
    if turn.state.phase is Phase.BACKOFF:
        launch_when_due(turn)


def _same_cause(recovery: Recovery | None, node: str) -> bool:
    return recovery is not None and node in nodes_of(recovery.raised.evidence)


def nodes_of(evidence: tuple[Evidence, ...]) -> tuple[str, ...]:
    """Return the nodes that evidence is about; a log line's node is only where it was read."""
    return tuple(item.node for item in evidence if item.node and item.kind in _ABOUT_NODES)


def _observe(turn: Turn, found: Found) -> None:
    """Observe mode: say once per attempt and exception what would have been done, and touch nothing."""
    became = rules.transformed(turn.state, found, turn.now)
    name = became.exception
    if name in turn.state.observed:
        if became.history != turn.state.history:
            # It is counted all the same: the n-th one may be a higher exception.
            of, history = turn.state.ordinal, became.history
            turn.record("dropped", exception=name, of=of, evidence=found.evidence, history=history)
        return
    raised = rules.raised(turn.state, found, became, turn.now)
    turn.record("raised", raised=raised, history=became.history)
    spec = turn.rule(name)
    decision = rules.decide(turn.state, spec, raised, turn.now)
    turn.record(
        "observed",
        exception=name,
        ordinal=raised.ordinal,
        action=decision.action,
        reason=decision.reason,
        steps=decision.steps,
    )
    turn.say(f"observed {name} ({rules.why(raised)}): would {decision.action}; nothing was touched")


def _raise(turn: Turn, found: Found, *, queued: bool = False) -> None:
    became = rules.transformed(turn.state, found, turn.now)
    raised = rules.raised(turn.state, found, became, turn.now)
    taken = found.exception if queued else None
    turn.record("raised", raised=raised, queued=taken, history=became.history)
    _decide(turn, turn.rule(raised.exception), raised)


def raise_lost(turn: Turn) -> bool:
    """Raise what the specification has for a lost node, when one without a spare would be started on.

    The word on it may have come when nothing could be raised: before the first attempt, from a fence, or to
    an isolator that was just restarted. Returns False when nothing is to be raised.
    """
    state = turn.state
    gone = placing.dead(state)
    name = rules.of_lost_nodes(state)
    if not gone or not name:
        return False
    evidence = Evidence(kind="node", time=turn.now, node=gone[0], detail=placing.too_few(state))
    word = Found(exception=name, evidence=(evidence,))
    if state.setup.observe:
        _observe(turn, word)
        return False
    became = rules.transformed(state, word, turn.now)
    raised = rules.raised(state, word, became, turn.now)
    turn.record("raised", raised=raised, queued=None, history=became.history)
    # What was done about this very node, and has left it in use, would do no more the next time.
    tried = any(
        item.raised.exception == raised.exception and gone[0] in nodes_of(item.raised.evidence)
        for item in state.pending
    )
    hopeless = f"spares-exhausted: {evidence.detail}" if tried else ""
    _decide(turn, turn.rule(raised.exception), raised, hopeless=hopeless)
    return True


def give_up(turn: Turn, evidence: Evidence, reason: str) -> None:
    """The next attempt cannot be started: the exception that it was to recover from comes to its ELSE.

    Args:
        turn: the present one.
        evidence: why it cannot.
        reason: the same, as the reason of what is done instead.
    """
    state = turn.state
    if not state.pending:
        turn.finish(EXIT_TEMPORARY, TaskState.FAILED, reason)
        return
    last = state.pending[-1].raised
    raised = msgspec.structs.replace(
        last, ordinal=state.ordinal + 1, time=turn.now, evidence=(*last.evidence, evidence)
    )
    turn.record("raised", raised=raised, queued=None)
    _decide(turn, turn.rule(raised.exception), raised, hopeless=reason)


def _decide(turn: Turn, spec: ExceptionSpec, raised: Raised, *, hopeless: str = "") -> None:
    """Decide about an exception, and begin. ``hopeless``: why its recovery would not help."""
    state = turn.state
    decision = rules.decide(state, spec, raised, turn.now)
    if hopeless and decision.action == "recover":
        decision = rules.Decision(action=spec.otherwise.value.lower(), reason=hopeless, steps=decision.steps)
    wanted = spec.level is Level.WORKFLOW_LEVEL and state.setup.coordinator
    request = wanted and decision.action == "recover"
    turn.record(
        "decided",
        exception=raised.exception,
        ordinal=raised.ordinal,
        action=decision.action,
        reason=decision.reason,
        level=spec.level,
        steps=decision.steps,
        backoff=decision.backoff,
        request=request,
    )
    because = f", {decision.reason}" if decision.reason else ""
    turn.say(f"raised {raised.exception} ({rules.why(raised)}): {decision.action}{because}")
    announce.announce(turn, spec, raised)
    if request:
        request_grant(turn)
    if state.alive and any(item.kind in _TIMERS for item in raised.evidence):
        turn.do(CollectEvidence(attempt=state.attempt))
    elif state.alive and decision.action == "fail":
        # Nothing is waiting for it to be gone, so it may end with its own last words and its own status.
        turn.wake(turn.now + LAST_WORDS)
        return
    fence(turn)


def fence_when_due(turn: Turn) -> None:
    """End an attempt that was given time for its last words."""
    state = turn.state
    if state.recovery is None or state.recovery.action != "fail" or state.recovery.fenced:
        return
    if turn.now >= state.recovery.decided + LAST_WORDS:
        fence(turn)
    else:
        turn.wake(state.recovery.decided + LAST_WORDS)


def request_grant(turn: Turn) -> None:
    """Ask the coordinator to do its part; the same request again after a restart is recognised."""
    recovery = turn.recovery()
    if recovery.requested is None:
        turn.record("requested", ordinal=recovery.ordinal)
    turn.send(RecoveryRequest(raised=recovery.raised, claim=turn.state.setup.claim))


def fence(turn: Turn) -> None:
    """Ask for the end of every process of the present attempt, wherever it is."""
    state = turn.state
    recovery = state.recovery
    if state.attempt == 0 and recovery is not None and not recovery.fenced:
        turn.record("fenced", attempt=0, seconds=0.0)
        proceed(turn)
    elif state.attempt == 0 or (recovery is not None and recovery.fenced):
        proceed(turn)
    else:
        turn.do(kill_command(state))


def kill_command(state: State) -> KillAttempt:
    """Return the command that ends the present attempt."""
    steps = state.recovery.steps if state.recovery else ()
    arguments = [step.get("arguments", {}) for step in steps if step.get("resource") == "FILESYSTEM"]
    below = tuple(value for item in arguments if isinstance(value := item.get("defaultpath"), str))
    return KillAttempt(attempt=state.attempt, nodes=state.nodes.active, open_below=below)


def on_kill_confirmed(turn: Turn, event: KillConfirmed) -> None:
    """The old attempt is surely over: go on with what it was ended for."""
    state = turn.state
    if event.attempt != state.attempt or state.phase in (Phase.RUNNING, Phase.LAUNCHING):
        return
    recovery = state.recovery
    known = nodes_of(recovery.raised.evidence) if recovery else ()
    evidence = [
        Evidence(kind="heartbeat", time=turn.now, node=node, detail="did not answer when it was fenced")
        for node in event.unreachable
        if node not in known
    ]
    if state.alive or state.is_refused or (recovery is not None and not recovery.fenced):
        turn.record(
            "fenced",
            attempt=event.attempt,
            seconds=event.seconds,
            killed=event.killed,
            open_files=event.open_files,
            unreachable=event.unreachable,
            unasked=event.unasked,
            lingering=event.lingering,
            evidence=evidence,
            steps=_planned_anew(turn, evidence),
        )
    turn.volatile(unconfirmed=False)
    proceed(turn)


def take_evidence(turn: Turn, event: EvidenceCollected) -> None:
    """Write down what was seen of a hung attempt; a node on which it cannot run may be the suspect."""
    turn.record(
        "evidence",
        attempt=event.attempt,
        detail=event.detail,
        stuck=event.stuck,
        steps=_planned_anew(turn, list(event.stuck)),
    )
    for item in event.stuck:
        turn.say(f"on {item.node}: {item.detail}")


def _planned_anew(turn: Turn, evidence: list[Evidence]) -> list[dict[str, Any]] | None:
    """Return the steps again when fencing has shown which node is the suspect; None when nothing is new."""
    recovery = turn.state.recovery
    if not evidence or recovery is None or recovery.done:
        return None
    raised = recovery.raised
    raised = msgspec.structs.replace(raised, evidence=(*raised.evidence, *evidence))
    silent = nodes_of(tuple(evidence))
    planned = rules.planned(turn.state, raised, silent=silent)
    return planned.steps if not planned.error else None


def on_kill_unconfirmed(turn: Turn, event: KillUnconfirmed) -> None:
    """Something of the old attempt lives on: nothing new may start beside it. Try again, bounded."""
    state = turn.state
    if event.attempt != state.attempt:
        return
    if not state.unconfirmed:
        turn.record("unfenced", attempt=event.attempt, reason=event.reason)
        turn.say(f"attempt {event.attempt} could not be ended: {event.reason}; trying again")
    turn.volatile(unconfirmed=True)
    if turn.now - state.since < FENCE_LIMIT:
        turn.wake(turn.now + FENCE_RETRY)
    elif state.phase is Phase.STOPPING:
        turn.finish(state.stop_code, TaskState.CANCELLED, f"{state.stop_reason}; {event.reason}")
    elif state.is_refused:
        evidence = Evidence(kind="launcher", time=turn.now, detail=event.reason)
        give_up(turn, evidence, f"what the refused start left could not be ended: {event.reason}")
    elif state.recovery is not None and state.phase is Phase.FENCING:
        instead(turn, otherwise_of(turn, state.recovery), f"the attempt could not be ended: {event.reason}")


def proceed(turn: Turn) -> None:
    """Do the next thing of the recovery under way, or of the stop that was asked for."""
    state = turn.state
    recovery = state.recovery
    if state.phase is Phase.STOPPING:
        turn.finish(state.stop_code, TaskState.CANCELLED, state.stop_reason)
        return
    if state.phase in (Phase.PAUSED, Phase.ESCALATED, Phase.FINISHED):
        return
    if recovery is None:
        if state.phase in (Phase.FENCING, Phase.BACKOFF):
            launch_when_due(turn)
        return
    if not recovery.fenced:
        return
    if recovery.action != "recover":
        _conclude(turn, recovery)
    elif recovery.request and not recovery.granted:
        _wait_for_grant(turn, recovery)
    elif recovery.done < len(recovery.steps):
        turn.record("step-begun", ordinal=recovery.ordinal, index=recovery.done)
        turn.do(RunStep(ordinal=recovery.ordinal, index=recovery.done))
    else:
        not_before = recovery.decided + recovery.backoff
        turn.record("relaunched", ordinal=recovery.ordinal, attempt=state.attempt + 1, not_before=not_before)
        launch_when_due(turn)


def _wait_for_grant(turn: Turn, recovery: Recovery) -> None:
    state = turn.state
    if state.phase is not Phase.GRANT:
        turn.record("waiting", ordinal=recovery.ordinal)
    wait = state.setup.coordinator_wait
    if recovery.requested is None:
        request_grant(turn)
    turn.wake((turn.recovery().requested or turn.now) + wait)
    say_waiting(turn)


def say_waiting(turn: Turn) -> None:
    """Say once that a recovery waits for a coordinator that is not there, and until when at most."""
    state = turn.state
    waits = state.phase is Phase.GRANT and not state.connected
    if not waits or state.said_waiting or state.recovery is None:
        return
    turn.volatile(said_waiting=True)
    deadline = (state.recovery.requested or turn.now) + state.setup.coordinator_wait
    turn.say(
        f"waiting for the coordinator, at most {max(deadline - turn.now, 0.0):.0f} s: "
        f"{state.recovery.raised.exception} needs its part"
    )


def on_grant(turn: Turn, grant: RecoveryGrant) -> None:
    """The coordinator did its part, or could not."""
    recovery = turn.state.recovery
    if recovery is None or recovery.ordinal != grant.ordinal or recovery.granted or not recovery.request:
        return
    # Paused or escalated, a repeated word decides nothing again; a grant is kept for when the task goes on.
    undecided = recovery.action == "recover" and turn.state.phase in (Phase.FENCING, Phase.GRANT)
    if grant.refused:
        if undecided:
            reason = f"the coordinator could not do its part: {grant.refused}"
            instead(turn, otherwise_of(turn, recovery), reason)
        return
    became: dict[str, Any] = {}
    if grant.transformed and rules.covers(turn.state, grant.transformed):
        origins = (*recovery.raised.transformed_from, recovery.raised.exception)
        raised = msgspec.structs.replace(
            recovery.raised, exception=grant.transformed, transformed_from=origins
        )
        decision = rules.decide(turn.state, turn.rule(grant.transformed), raised, turn.now)
        if decision.action != "recover" and not undecided:
            return
        turn.say(f"{recovery.raised.exception} became {grant.transformed}, counted over all tasks")
        if decision.action != "recover":
            instead(turn, decision.action, decision.reason, became=grant.transformed)
            return
        became = {"raised": raised, "steps": decision.steps}
    turn.record(
        "granted",
        ordinal=grant.ordinal,
        configuration=merged(turn.state.configuration, grant.configuration),
        coordinator_version=max(turn.state.coordinator_version, grant.configuration.version),
        **became,
    )
    proceed(turn)


def check_grant(turn: Turn) -> None:
    """End the wait for the coordinator when its limit has come."""
    recovery = turn.state.recovery
    wait = turn.state.setup.coordinator_wait
    if recovery is None or recovery.requested is None:
        return
    if turn.now >= recovery.requested + wait:
        reason = f"the coordinator did not answer within {wait:g} s"
        instead(turn, otherwise_of(turn, recovery), reason)
    else:
        turn.wake(recovery.requested + wait)


def otherwise_of(turn: Turn, recovery: Recovery) -> str:
    """Return what the specification says is done when a recovery cannot be: fail, pause, escalate."""
    return turn.rule(recovery.raised.exception).otherwise.value.lower()


def instead(turn: Turn, action: str, reason: str, *, became: str = "") -> None:
    """The recovery cannot be done: fail, pause or escalate. ``became``: as what, if not as itself."""
    recovery = turn.recovery()
    turn.record("otherwise", ordinal=recovery.ordinal, action=action, reason=reason, became=became)
    turn.say(f"{recovery.raised.exception}: {action}, because {reason}")
    if turn.recovery().fenced or turn.state.unconfirmed:
        _conclude(turn, turn.recovery())


def _conclude(turn: Turn, recovery: Recovery) -> None:
    state = turn.state
    reason = rules.with_evidence(recovery.raised, recovery.reason)
    if recovery.action == "pause":
        turn.record("paused", ordinal=recovery.ordinal, reason=reason)
        turn.report_recovery(recovery, "paused")
    elif recovery.action == "escalate":
        _escalate(turn, recovery)
    else:
        turn.report_recovery(recovery, "failed")
        code = state.exit_code or FAILED_WITHOUT_STATUS
        turn.finish(code, TaskState.FAILED, reason)


def _escalate(turn: Turn, recovery: Recovery) -> None:
    """Raise the exception that was named for this, where this task knows it; else it is the coordinator's."""
    state = turn.state
    spec = turn.rule(recovery.raised.exception)
    higher = spec.escalate_to if spec.otherwise is Otherwise.ESCALATE else None
    chain = (*recovery.raised.transformed_from, recovery.raised.exception)
    if higher is not None and higher not in chain and rules.covers(state, higher):
        raised = Raised(
            exception=higher,
            task=state.setup.task.id,
            attempt=state.attempt,
            ordinal=state.ordinal + 1,
            time=turn.now,
            evidence=recovery.raised.evidence,
            transformed_from=chain,
            reached=recovery.raised.reached,
        )
        turn.record("raised", raised=raised, queued=None)
        _decide(turn, turn.rule(higher), raised)
        return
    turn.record("escalated", ordinal=recovery.ordinal, reason=recovery.reason)
    escalation.send(turn)
    if not state.setup.coordinator:
        turn.finish(EXIT_TEMPORARY, TaskState.FAILED, f"{recovery.raised.exception}: {recovery.reason}")


def launch_when_due(turn: Turn) -> None:
    """Start the next attempt, once nothing waits to be handled first and the back-off is over."""
    while turn.state.queued and turn.state.phase is Phase.BACKOFF:
        found = turn.state.queued[0]
        if not set(nodes_of(found.evidence)) & set(turn.state.nodes.active):
            turn.record("dropped", exception=found.exception, of=turn.state.ordinal, evidence=found.evidence)
        else:
            _raise(turn, found, queued=True)
            return
    state = turn.state
    not_before = max((item.not_before for item in state.pending), default=0.0)
    if state.phase is Phase.BACKOFF and turn.now < not_before:
        turn.wake(not_before)
        return
    if not placing.place(turn):
        if not raise_lost(turn):
            evidence = Evidence(kind="node", time=turn.now, detail=placing.too_few(state))
            give_up(turn, evidence, f"spares-exhausted: {evidence.detail}")
        return
    start_attempt(turn, state.attempt + 1)


def start_attempt(turn: Turn, number: int) -> None:
    """Write the next attempt down, then start it."""
    state = turn.state
    token = setup.token(state.setup, number)
    turn.record(
        "attempt",
        attempt=number,
        token=token,
        nodes=state.nodes.active,
        configuration_version=state.configuration.version,
    )
    start = StartAttempt(attempt=number, token=token, configuration=state.configuration, nodes=state.nodes)
    turn.do(msgspec.structs.replace(start, lingering=state.lingering))
