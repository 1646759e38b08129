"""Recoveries with own steps of the coordinator: requested, planned, performed step by step, granted, closed.

Each function takes the transition, records its decisions, and adds the commands that follow. Each may be
called again for the same event, since it starts from the recorded state.

An isolator counts its own task's exceptions and transforms them before they are handled. The coordinator
counts the exceptions of all tasks of a workflow by the same rules, so an exception that occurs once in each
of three tasks counts as three. An exception that an isolator has transformed is not transformed again.
"""

from __future__ import annotations

import msgspec

from whesl.language.spec import Level
from whesl.model.evidence import Raised
from whesl.model.outcomes import OrderStatus, Origin, OwnStepOutcome, RecoveryOutcome, Verdict
from whesl.model.workflow import Task
from whesl.runtime.coordinator.core.dependents_and_names import dependents
from whesl.runtime.coordinator.core.events_and_commands import RunStep, StepEnded
from whesl.runtime.coordinator.core.recovery import requeue_orders
from whesl.runtime.coordinator.core.recovery.coordinator_step_plan import exception_of, own_steps
from whesl.runtime.coordinator.core.recovery.dependent_reconfiguration import (
    apply_changes,
    configure,
    configure_by_change,
    note_not_told,
    upon_present,
)
from whesl.runtime.coordinator.core.state import Recovery, TaskEntry, numbered
from whesl.runtime.coordinator.core.transition_context import Transition
from whesl.runtime.detect.exception_transformation import transform
from whesl.runtime.journal.records import coordinator_records as records
from whesl.runtime.operations.recovery_plan import RecoveryError
from whesl.runtime.wire.messages import Escalate, RecoveryDone, RecoveryGrant, RecoveryRequest

_WENT_ON = (RecoveryOutcome.RELAUNCHED, RecoveryOutcome.SKIPPED)


def on_request(transition: Transition, peer: str, message: RecoveryRequest) -> None:
    """Handle an isolator's request for the coordinator's steps; a repeated request gets its answer again.

    Args:
        transition: the present transition.
        peer: the sender of the message.
        message: the message.
    """
    raised = message.raised
    entry = transition.task(raised.task)
    if entry is None or entry.state.final or entry.outdated(peer, message.claim):
        return
    key = f"{entry.id}#{raised.ordinal}"
    known = transition.state.recoveries.get(key)
    if known is None or known.raised.time != raised.time:
        # A known recovery with another time is an earlier claim's: this isolator's registration is yet to
        # come.
        begin(
            transition,
            entry,
            raised,
            counted(transition, raised),
            key=key,
            origin=Origin.REQUEST,
            peer=peer,
            earlier=message.earlier,
        )
    elif known.granted:
        send_grant(transition, known, peer)


def on_raised(transition: Transition, entry: TaskEntry, raised: Raised, peer: str) -> None:
    """Count a task's exception, which may be transformed because of the workflow's counts over all tasks.

    A WORKFLOW_LEVEL exception is counted when its request arrives. The registration of the reporting ``peer``
    may arrive later, and must not drop the recovery that begins here.

    Args:
        transition: the present transition.
        entry: the task.
        raised: the exception with its evidence.
        peer: the sender of the message.
    """
    workflow = transition.state.workflows.get(entry.workflow)
    described = exception_of(workflow.spec if workflow else None, raised.exception)
    if workflow is None or described is None or described.level is Level.WORKFLOW_LEVEL:
        return
    became = counted(transition, raised)
    if became != raised.exception and not workflow.observe:
        key = f"{entry.id}#{raised.ordinal}!{became}"
        begin(transition, entry, raised, became, key=key, origin=Origin.COUNTED, peer=peer)


def begin(
    transition: Transition,
    entry: TaskEntry,
    raised: Raised,
    exception: str,
    *,
    key: str,
    origin: Origin,
    peer: str = "",
    reason: str = "",
    earlier: int = 0,
) -> None:
    """Plan the coordinator's steps of a recovery, record them, and start the first step.

    Args:
        transition: the present transition.
        entry: the task.
        raised: the exception as its isolator raised it.
        exception: the exception to handle; '' where no rule handles an escalated exception.
        key: the recovery's id.
        origin: what asked for the recovery.
        peer: the isolator that waits for the recovery, '' for none.
        reason: why the exception was escalated, '' where it was not.
        earlier: how often the task has raised it before, also in earlier runs of its job.
    """
    for other in transition.state.recoveries_of(entry.id):
        older = other.raised.ordinal < raised.ordinal
        if older and other.origin is Origin.REQUEST and not other.closed:
            transition.record(records.Closed(recovery=other.id, task=entry.id, outcome="superseded"))
    steps: tuple[records.OwnStep, ...] = ()
    refused = ""
    before = max(entry.recoveries.get(exception, 0), earlier if exception == raised.exception else 0)
    workflow = transition.state.workflows.get(entry.workflow)
    if workflow is not None and workflow.spec is not None and exception:
        try:
            steps = own_steps(workflow.spec, raised, exception, entry, before)
        except RecoveryError as error:
            refused = error.message
    transition.record(
        records.Requested(
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
            before=before,
        )
    )
    became = f", which is {exception} for the workflow" if exception not in ("", raised.exception) else ""
    transition.say(
        f"{entry.id}: {raised.exception}{became} ({origin}): {len(steps)} steps of the coordinator's own"
    )
    advance(transition, key)


def advance(transition: Transition, key: str) -> None:
    """Start the next step of a recovery, or conclude the recovery after its last step.

    Args:
        transition: the present transition.
        key: the recovery's id.
    """
    recovery = transition.state.recoveries[key]
    if not recovery.open:
        return
    if recovery.refused or recovery.done >= len(recovery.steps):
        _conclude(transition, recovery)
        return
    if recovery.begun <= recovery.done:
        transition.record(
            records.StepBegun(
                recovery=key,
                task=recovery.task,
                ordinal=recovery.raised.ordinal,
                index=recovery.done,
                step=recovery.steps[recovery.done].name,
            )
        )
    transition.do(RunStep(recovery=key, index=recovery.done))


def on_step_ended(transition: Transition, event: StepEnded) -> None:
    """Handle the end of a step; a repeated event, or a step of a closed recovery, changes nothing.

    Args:
        transition: the present transition.
        event: the event.
    """
    recovery = transition.state.recoveries.get(event.recovery)
    if recovery is None or not recovery.open or event.index != recovery.done:
        return
    name = recovery.steps[event.index].name
    if (
        event.outcome is OwnStepOutcome.LATER
        and transition.now - recovery.time < transition.state.settings.step_limit
    ):
        transition.say(f"{recovery.task}: {name}: {event.note}; trying again")
        transition.wait_to_retry(recovery.id)
        return
    transition.retry_over(recovery.id)
    for bad in event.bad_nodes:
        transition.record(records.BadNodeSeen(bad_node=bad, task=recovery.task))
    if event.outcome in (OwnStepOutcome.CONTINUE, OwnStepOutcome.REQUEUE):
        said = msgspec.structs.asdict(event)
        del said["bad_nodes"]
        transition.record(
            records.StepDone(task=recovery.task, ordinal=recovery.raised.ordinal, step=name, **said)
        )
    else:
        _fail(transition, recovery, event.index, event.note)
        transition.say(f"{recovery.task}: {name} failed: {event.note}")
    advance(transition, recovery.id)


def _conclude(transition: Transition, recovery: Recovery) -> None:
    if recovery.origin is Origin.ESCALATION:
        requeue_orders.decide(transition, recovery)
    elif recovery.requeue and not recovery.refused:
        if why := requeue_orders.order_requeue(transition, recovery.task, recovery.exception, recovery.id):
            refuse(transition, recovery.id, why)
    elif recovery.origin is Origin.REQUEST:
        grant(transition, recovery)
    else:
        apply_changes(transition, recovery)
        transition.record(
            records.Closed(
                recovery=recovery.id,
                task=recovery.task,
                outcome="failed" if recovery.refused else "done",
                reason=recovery.refused,
            )
        )


def refuse(transition: Transition, key: str, reason: str) -> None:
    """Refuse a recovery whose coordinator's steps cannot be done, and tell the isolator that waits for it.

    Args:
        transition: the present transition.
        key: the recovery's id.
        reason: why the steps cannot be done, for people.
    """
    recovery = transition.state.recoveries[key]
    _fail(transition, recovery, max(recovery.done - 1, 0), reason)
    advance(transition, key)


def _fail(transition: Transition, recovery: Recovery, index: int, note: str) -> None:
    transition.record(
        records.StepFailed(
            recovery=recovery.id,
            task=recovery.task,
            ordinal=recovery.raised.ordinal,
            index=index,
            step=recovery.steps[index].name if recovery.steps else "",
            note=note,
        )
    )


def grant(transition: Transition, recovery: Recovery) -> None:
    """Hand a recovery to its isolator: the coordinator's steps are done, or refused.

    Args:
        transition: the present transition.
        recovery: the recovery.
    """
    if recovery.configuration is not None and not recovery.refused:
        new = upon_present(transition, recovery, {recovery.task: recovery.configuration})
        configure(transition, new, because=recovery.id, tell=False)
    transition.record(
        records.Granted(
            recovery=recovery.id,
            task=recovery.task,
            ordinal=recovery.raised.ordinal,
            exception=recovery.exception,
            refused=recovery.refused,
        )
    )
    entry = transition.state.tasks[recovery.task]
    send_grant(transition, transition.state.recoveries[recovery.id], entry.peer or recovery.peer)


def send_grant(transition: Transition, recovery: Recovery, peer: str) -> None:
    """Send an isolator the grant of its recovery; a repetition is harmless.

    Args:
        transition: the present transition.
        recovery: the recovery.
        peer: the isolator.
    """
    entry = transition.state.tasks[recovery.task]
    transition.send(
        peer,
        RecoveryGrant(
            task=recovery.raised.task,
            ordinal=recovery.raised.ordinal,
            configuration=entry.configuration,
            refused=recovery.refused,
            transformed=recovery.exception if recovery.exception != recovery.raised.exception else "",
        ),
    )


def on_done(transition: Transition, peer: str, message: RecoveryDone) -> None:
    """Handle the end of a recovery; a repeated message does not tell dependents again.

    Args:
        transition: the present transition.
        peer: the sender of the message.
        message: the message.
    """
    entry = transition.task(message.task)
    if entry is None or entry.outdated(peer, message.claim):
        return
    known = entry.outcomes.get(message.ordinal)
    same = known is not None and known.raised == message.raised
    if (
        known is not None
        and same
        and (known.word is not RecoveryOutcome.PAUSED or known.word == message.outcome)
    ):
        return
    transition.record(
        records.RecoveryDone(
            task=entry.id,
            ordinal=message.ordinal,
            raised=message.raised,
            exception=message.exception,
            outcome=message.outcome,
            seconds=message.seconds,
        )
    )
    if message.outcome not in _WENT_ON:
        return
    recovery = transition.state.recoveries.get(f"{entry.id}#{message.ordinal}")
    changes = {}
    if not message.dependents_map.empty:
        changes = dict.fromkeys(dependents(transition.state, entry.id), message.dependents_map)
        configure_by_change(transition, changes, because=message.exception, signal=message.signal)
    if recovery is not None and message.raised in (0.0, recovery.raised.time):
        apply_changes(transition, recovery, own=False)
    if message.outcome is RecoveryOutcome.RELAUNCHED:
        own = recovery if recovery is not None and message.raised in (0.0, recovery.raised.time) else None
        change = own.dependents if own is not None and own.dependents is not None else None
        if change is None and changes:
            change = message.dependents_map
        signal = message.signal or (own.signal if own is not None else 0)
        note_not_told(transition, entry.id, message.exception, change, signal)


def on_escalate(transition: Transition, peer: str, message: Escalate) -> None:
    """Handle an isolator's escalation; a repeated message only gets its answer again.

    Args:
        transition: the present transition.
        peer: the sender of the message.
        message: the message.
    """
    raised = message.raised
    entry = transition.task(raised.task)
    if entry is None or entry.state.final or entry.outdated(peer, message.claim):
        return
    key = f"{entry.id}#{raised.ordinal}!escalated"
    known = transition.state.recoveries.get(key)
    if known is not None and known.raised.time == raised.time:
        if known.decision:
            requeue_orders.send_decision(transition, known, peer)
        return
    became = counted(transition, raised)
    workflow = transition.state.workflows.get(entry.workflow)
    higher = message.escalate_to or (became if became != raised.exception else "")
    chain = (*raised.transformed_from, raised.exception)
    if exception_of(workflow.spec if workflow else None, higher) is None or higher in chain:
        higher = ""
    begin(
        transition, entry, raised, higher, key=key, origin=Origin.ESCALATION, peer=peer, reason=message.reason
    )


def on_requeue_ended(transition: Transition, event: records.RequeueDone) -> None:
    """Handle the outcome of a requeue: the scheduler accepted it, refused it, or did not answer.

    Args:
        transition: the present transition.
        event: the event.
    """
    order = transition.state.requeues.get(event.token)
    if order is None or order.status not in (OrderStatus.DECIDED, OrderStatus.BEGUN):
        return
    if event.outcome is OrderStatus.LATER:
        transition.say(f"{order.task}: job {order.job_id}: {event.reason}; trying again")
        transition.wait_to_retry(order.token)
        return
    transition.retry_over(order.token)
    transition.record(event)
    recovery = transition.state.recoveries.get(order.recovery)
    if event.outcome is OrderStatus.DONE:
        transition.say(f"{order.task}: job {order.job_id} runs again under the same id")
        if recovery is not None:
            apply_changes(transition, recovery)
            if recovery.origin is Origin.ESCALATION:
                requeue_orders.settle(transition, recovery, Verdict.REQUEUE, order.because)
            else:
                transition.record(records.Closed(recovery=recovery.id, task=order.task, outcome="requeued"))
        return
    reason = f"the scheduler refused to run job {order.job_id} again: {event.reason}"
    transition.say(f"{order.task}: {reason}")
    entry = transition.state.tasks[order.task]
    if recovery is None or entry.parted:
        requeue_orders.give_up(transition, entry, reason)
    elif recovery.origin is Origin.ESCALATION:
        requeue_orders.settle(transition, recovery, Verdict.FAIL, reason)
    else:
        refuse(transition, recovery.id, reason)


def counted(transition: Transition, raised: Raised) -> str:
    """Count an exception, once for each ordinal of its task, and return the exception to handle.

    Args:
        transition: the transition of the core.
        raised: the exception as the isolator raised it.

    Returns the name of the exception: ``raised.exception``, unless the workflow's counts transform it.
    """
    entry = transition.task(raised.task)
    workflow = transition.state.workflows.get(entry.workflow) if entry else None
    if entry is None or workflow is None or workflow.spec is None:
        return raised.exception
    if numbered(entry.id, raised.ordinal, raised.time) in workflow.counted:
        return raised.exception
    first = raised.transformed_from[0] if raised.transformed_from else raised.exception
    task = Task(id=entry.id, step=entry.step, instance=entry.instance)
    became = transform(workflow.spec, task, workflow.history, first, entry.ours(raised.time, transition.now))
    own = became.exception in (raised.exception, *raised.transformed_from)
    transition.record(
        records.Counted(
            workflow=workflow.workflow.id,
            task=entry.id,
            ordinal=raised.ordinal,
            raised=raised.time,
            exception=first,
            became=raised.exception if own else became.exception,
            detail=became.detail,
            history=became.history,
        )
    )
    return raised.exception if own else became.exception
