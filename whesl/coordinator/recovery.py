"""Recoveries with steps of the coordinator's own: asked for, planned, done one by one, granted, closed.

Each function takes the turn, writes down what it decides, and asks for what follows; all of them may be
called again with the same news, since they start from the written state.
"""

from __future__ import annotations

from whesl.coordinator import escalation
from whesl.coordinator.configuring import apply_changes, configure, configure_by_change, upon_present
from whesl.coordinator.counting import counted
from whesl.coordinator.events import RequeueEnded, RunStep, StepEnded
from whesl.coordinator.hierarchy import dependents, says_something
from whesl.coordinator.planning import exception_of, own_steps
from whesl.coordinator.state import OwnStep, Recovery, TaskEntry
from whesl.coordinator.turn import Turn
from whesl.erm.plan import RecoveryError
from whesl.esl.spec import Level
from whesl.model.evidence import Raised
from whesl.wire.messages import Escalate, RecoveryDone, RecoveryGrant, RecoveryRequest

_WENT_ON = ("relaunched", "skipped")


def on_request(turn: Turn, peer: str, message: RecoveryRequest) -> None:
    """An isolator waits for the coordinator's part; the same request again is only answered again."""
    raised = message.raised
    entry = turn.task(raised.task)
    if entry is None or entry.state.final or entry.outdated(peer, message.claim):
        return
    key = f"{entry.id}#{raised.ordinal}"
    known = turn.state.recoveries.get(key)
    if known is None or known.raised.time != raised.time:
        # Of another claim whose exceptions had the same numbers, where a new one's registration is late.
        begin(turn, entry, raised, counted(turn, raised), key=key, origin="request", peer=peer)
    elif known.granted:
        send_grant(turn, known, peer)


def on_raised(turn: Turn, entry: TaskEntry, raised: Raised, peer: str) -> None:
    """A task's own exception was raised: together with those of other tasks it may be another one.

    One that asks for the coordinator is counted when it asks. The registration of the ``peer`` that told of
    it may come later, and must not forget what begins here.
    """
    workflow = turn.state.workflows.get(entry.workflow)
    described = exception_of(workflow.spec if workflow else None, raised.exception)
    if workflow is None or described is None or described.level is Level.WORKFLOW_LEVEL:
        return
    became = counted(turn, raised)
    if became != raised.exception and not workflow.observe:
        key = f"{entry.id}#{raised.ordinal}!{became}"
        begin(turn, entry, raised, became, key=key, origin="counted", peer=peer)


def begin(
    turn: Turn,
    entry: TaskEntry,
    raised: Raised,
    exception: str,
    *,
    key: str,
    origin: str,
    peer: str = "",
    reason: str = "",
) -> None:
    """Plan the coordinator's steps of a recovery, write them down, and start with the first."""
    for other in turn.state.recoveries_of(entry.id):
        older = other.raised.ordinal < raised.ordinal
        if older and other.origin == "request" and not other.closed:
            turn.record("closed", recovery=other.id, task=entry.id, outcome="superseded")
    steps: tuple[OwnStep, ...] = ()
    refused = ""
    workflow = turn.state.workflows.get(entry.workflow)
    if workflow is not None and workflow.spec is not None and exception:
        try:
            steps = own_steps(workflow.spec, raised, exception, entry)
        except RecoveryError as error:
            refused = error.message
    turn.record(
        "requested",
        recovery=key,
        task=entry.id,
        ordinal=raised.ordinal,
        raised=raised,
        exception=exception,
        origin=origin,
        peer=peer,
        reason=reason,
        steps=steps,
        refused=refused,
    )
    became = f", which is {exception} for the workflow" if exception not in ("", raised.exception) else ""
    turn.say(
        f"{entry.id}: {raised.exception}{became} ({origin}): {len(steps)} steps of the coordinator's own"
    )
    advance(turn, key)


def advance(turn: Turn, key: str) -> None:
    """Do the next thing of a recovery: a step, or what comes after the last one."""
    recovery = turn.state.recoveries[key]
    if not recovery.open:
        return
    if recovery.refused or recovery.done >= len(recovery.steps):
        _conclude(turn, recovery)
        return
    if recovery.begun <= recovery.done:
        turn.record(
            "step-begun",
            recovery=key,
            task=recovery.task,
            ordinal=recovery.raised.ordinal,
            index=recovery.done,
            step=recovery.steps[recovery.done].name,
        )
    turn.do(RunStep(recovery=key, index=recovery.done))


def on_step_ended(turn: Turn, event: StepEnded) -> None:
    """A step ended; repeats, and steps of a recovery that was closed meanwhile, change nothing."""
    recovery = turn.state.recoveries.get(event.recovery)
    if recovery is None or not recovery.open or event.index != recovery.done:
        return
    name = recovery.steps[event.index].name
    if event.outcome == "later" and turn.now - recovery.time < turn.state.settings.step_limit:
        turn.say(f"{recovery.task}: {name}: {event.note}; trying again")
        turn.wait_to_retry(recovery.id)
        return
    turn.retry_over(recovery.id)
    for bad in event.bad_nodes:
        turn.record("bad-node", bad_node=bad, task=recovery.task)
    about = {
        "recovery": recovery.id,
        "task": recovery.task,
        "ordinal": recovery.raised.ordinal,
        "index": event.index,
        "step": name,
        "note": event.note,
    }
    if event.outcome in ("continue", "requeue"):
        turn.record(
            "step-done",
            **about,
            outcome=event.outcome,
            configuration=event.configuration,
            dependents=event.dependents,
            others=event.others,
            bases=event.bases,
            signal=event.signal,
        )
    else:
        turn.record("step-failed", **about)
        turn.say(f"{recovery.task}: {name} failed: {event.note}")
    advance(turn, recovery.id)


def _conclude(turn: Turn, recovery: Recovery) -> None:
    if recovery.origin in ("escalation", "lost"):
        escalation.decide(turn, recovery)
    elif recovery.requeue and not recovery.refused:
        if not escalation.order_requeue(turn, recovery.task, recovery.exception, recovery.id):
            refuse(turn, recovery.id, escalation.SPENT)
    elif recovery.origin == "request":
        grant(turn, recovery)
    else:
        apply_changes(turn, recovery)
        turn.record(
            "closed",
            recovery=recovery.id,
            task=recovery.task,
            outcome="failed" if recovery.refused else "done",
            reason=recovery.refused,
        )


def refuse(turn: Turn, key: str, reason: str) -> None:
    """The coordinator's part cannot be done: who waits for it is told."""
    recovery = turn.state.recoveries[key]
    index = max(recovery.done - 1, 0)
    turn.record(
        "step-failed",
        recovery=key,
        task=recovery.task,
        ordinal=recovery.raised.ordinal,
        index=index,
        step=recovery.steps[index].name if recovery.steps else "",
        note=reason,
    )
    advance(turn, key)


def grant(turn: Turn, recovery: Recovery) -> None:
    """The coordinator's part is done, or refused: now it is the isolator's turn."""
    if recovery.configuration is not None and not recovery.refused:
        new = upon_present(turn, recovery, {recovery.task: recovery.configuration})
        configure(turn, new, because=recovery.id, tell=False)
    turn.record(
        "granted",
        recovery=recovery.id,
        task=recovery.task,
        ordinal=recovery.raised.ordinal,
        exception=recovery.exception,
        refused=recovery.refused,
    )
    entry = turn.state.tasks[recovery.task]
    send_grant(turn, turn.state.recoveries[recovery.id], entry.peer or recovery.peer)


def send_grant(turn: Turn, recovery: Recovery, peer: str) -> None:
    """Tell an isolator (again) that it may go on."""
    entry = turn.state.tasks[recovery.task]
    turn.send(
        peer,
        RecoveryGrant(
            task=recovery.raised.task,
            ordinal=recovery.raised.ordinal,
            configuration=entry.configuration,
            refused=recovery.refused,
            transformed=recovery.exception if recovery.exception != recovery.raised.exception else "",
        ),
    )


def on_done(turn: Turn, peer: str, message: RecoveryDone) -> None:
    """A recovery ended; dependents are told once, whatever is repeated."""
    entry = turn.task(message.task)
    if entry is None or entry.outdated(peer, message.claim):
        return
    known = entry.outcomes.get(message.ordinal)
    same = known is not None and known.raised == message.raised
    if known is not None and same and (known.word != "paused" or known.word == message.outcome):
        return
    turn.record(
        "recovery-done",
        task=entry.id,
        ordinal=message.ordinal,
        raised=message.raised,
        exception=message.exception,
        outcome=message.outcome,
        seconds=message.seconds,
    )
    if message.outcome not in _WENT_ON:
        return
    recovery = turn.state.recoveries.get(f"{entry.id}#{message.ordinal}")
    changes = {}
    if says_something(message.dependents_map):
        changes = dict.fromkeys(dependents(turn.state, entry.id), message.dependents_map)
        configure_by_change(turn, changes, because=message.exception, signal=message.signal)
    if recovery is not None and message.raised in (0.0, recovery.raised.time):
        apply_changes(turn, recovery, own=False)


def on_escalate(turn: Turn, peer: str, message: Escalate) -> None:
    """An isolator gives a decision up; the same message again is only answered again."""
    raised = message.raised
    entry = turn.task(raised.task)
    if entry is None or entry.state.final or entry.outdated(peer, message.claim):
        return
    key = f"{entry.id}#{raised.ordinal}!escalated"
    known = turn.state.recoveries.get(key)
    if known is not None and known.raised.time == raised.time:
        if known.decision:
            escalation.send_decision(turn, known, peer)
        return
    became = counted(turn, raised)
    workflow = turn.state.workflows.get(entry.workflow)
    higher = message.escalate_to or (became if became != raised.exception else "")
    chain = (*raised.transformed_from, raised.exception)
    if exception_of(workflow.spec if workflow else None, higher) is None or higher in chain:
        higher = ""
    begin(turn, entry, raised, higher, key=key, origin="escalation", peer=peer, reason=message.reason)


def on_requeue_ended(turn: Turn, event: RequeueEnded) -> None:
    """The scheduler took the order, refused it, or could not be asked."""
    order = turn.state.requeues.get(event.token)
    if order is None or order.status not in ("decided", "begun"):
        return
    if event.outcome == "later":
        turn.say(f"{order.task}: job {order.job_id}: {event.reason}; trying again")
        turn.wait_to_retry(order.token)
        return
    turn.retry_over(order.token)
    turn.record(
        "requeue-done", token=order.token, task=order.task, outcome=event.outcome, reason=event.reason
    )
    recovery = turn.state.recoveries.get(order.recovery)
    if event.outcome == "done":
        turn.say(f"{order.task}: job {order.job_id} runs again under the same id")
        if recovery is not None:
            apply_changes(turn, recovery)
            if recovery.origin == "escalation":
                escalation.settle(turn, recovery, "requeue", order.because)
            else:
                turn.record("closed", recovery=recovery.id, task=order.task, outcome="requeued")
        return
    reason = f"the scheduler refused to run job {order.job_id} again: {event.reason}"
    turn.say(f"{order.task}: {reason}")
    entry = turn.state.tasks[order.task]
    if recovery is None or entry.parted:
        escalation.give_up(turn, entry, reason)
    elif recovery.origin == "escalation":
        escalation.settle(turn, recovery, "fail", reason)
    else:
        refuse(turn, recovery.id, reason)
