"""Escalated exceptions, and orders to a job's scheduler: the job runs again, or the task fails or pauses.

An exception that a task cannot handle in its allocation is escalated to the coordinator. Orders are recorded
before the scheduler gets a request, so that neither a repeated message nor a crash causes a second one.
"""

from __future__ import annotations

import math

from whesl.language.spec import Otherwise
from whesl.model.bad_node_expiry import to_avoid
from whesl.model.outcomes import OrderStatus, Origin, RequeueSaid, ToldBy, Verdict
from whesl.model.states import TaskState
from whesl.runtime.coordinator.core.events_and_commands import (
    AllowRequeue,
    AskRequeue,
    CancelJob,
    JobCancelled,
    Requeue,
    RequeueAllowed,
)
from whesl.runtime.coordinator.core.recovery.coordinator_step_plan import exception_of
from whesl.runtime.coordinator.core.state import Recovery, RequeueEntry, TaskEntry
from whesl.runtime.coordinator.core.transition_context import Transition
from whesl.runtime.journal.records import coordinator_records as records
from whesl.runtime.wire.messages import EscalationDecision

SPENT = "the job was run again already, and is not run a third time"
UNWANTED = "its user wants no second run (--no-requeue)"
# Reasons for an escalation where another allocation would help.
_ALLOCATION = frozenset({"spares-exhausted", "allocation-lost"})


def decide(transition: Transition, recovery: Recovery) -> None:
    """Decide about an escalated exception, once the coordinator's own steps are done.

    Args:
        transition: the present transition.
        recovery: the recovery from the escalated exception.
    """
    entry = transition.state.tasks[recovery.task]
    workflow = transition.state.workflows.get(entry.workflow)
    if recovery.refused:
        settle(transition, recovery, Verdict.FAIL, recovery.refused)
    elif recovery.requeue or recovery.steps or recovery.reason in _ALLOCATION:
        because = f"{recovery.raised.exception}: {recovery.reason}"
        if why := order_requeue(transition, entry.id, because, recovery.id):
            settle(transition, recovery, Verdict.FAIL, why)
    else:
        described = exception_of(workflow.spec if workflow else None, recovery.exception)
        pause = described is not None and described.otherwise is Otherwise.PAUSE
        settle(transition, recovery, Verdict.PAUSE if pause else Verdict.FAIL, recovery.reason)


def settle(transition: Transition, recovery: Recovery, action: Verdict, reason: str) -> None:
    """Record a decision (requeue, fail or pause), and send it to the isolator that waits for it.

    Args:
        transition: the present transition.
        recovery: the recovery.
        action: the decision.
        reason: why, for people.
    """
    transition.record(
        records.Decided(
            recovery=recovery.id,
            task=recovery.task,
            ordinal=recovery.raised.ordinal,
            action=action,
            reason=reason,
        )
    )
    transition.say(f"{recovery.task}: {recovery.raised.exception} was escalated: {action} ({reason})")
    entry = transition.state.tasks[recovery.task]
    send_decision(transition, transition.state.recoveries[recovery.id], entry.peer or recovery.peer)


def send_decision(transition: Transition, recovery: Recovery, peer: str) -> None:
    """Send an isolator the decision on its escalated exception; a repetition is harmless.

    Args:
        transition: the present transition.
        recovery: the recovery.
        peer: the isolator.
    """
    assert recovery.decision is not None
    transition.send(
        peer,
        EscalationDecision(
            task=recovery.raised.task,
            ordinal=recovery.raised.ordinal,
            action=recovery.decision,
            reason=recovery.reason,
        ),
    )


# Running the same job again ----------------------------------------------------------------------------


def order_requeue(transition: Transition, task: str, because: str, recovery: str = "") -> str:
    """Order a requeue of a task's job; return why the job may not run again, '' when the requeue is ordered.

    The order is recorded, under a token of the job's present run, before the scheduler gets any request. So
    neither a repeated message nor a crash causes a second requeue.

    Args:
        transition: the present transition.
        task: the task's id.
        because: why the job has to run again, for people.
        recovery: the id of the recovery that asks for the requeue, '' for none.
    """
    entry = transition.state.tasks[task]
    if not entry.job_id or not entry.rjms:
        return "there is no job to run again"
    if entry.requeue is RequeueSaid.NO:
        return UNWANTED
    orders = transition.state.requeues
    token = f"{task}@{entry.claim}"
    if token in orders:
        return SPENT if orders[token].status is OrderStatus.REFUSED else ""
    used = sum(
        order.task == task and order.job_id == entry.job_id and order.status is not OrderStatus.REFUSED
        for order in orders.values()
    )
    if used >= transition.state.settings.requeues + _by_limits(transition, recovery):
        return SPENT
    transition.record(
        records.RequeueDecided(
            token=token,
            task=task,
            rjms=entry.rjms,
            job_id=entry.job_id,
            claim=entry.claim,
            recovery=recovery,
            because=because,
        )
    )
    transition.say(f"{task}: job {entry.job_id} is to run again: {because}")
    pursue(transition, transition.state.requeues[token])
    return ""


def _by_limits(transition: Transition, recovery: str) -> float:
    """Return how many new runs the LIMITs of rules allow a job, 0 where no isolator has counted a recovery.

    Isolators count recoveries, each for itself. The sum of all limits bounds the new runs of a job whose
    isolators lose their journals.

    Args:
        transition: the present transition.
        recovery: the id of the recovery that asks for the requeue, '' for none.
    """
    found = transition.state.recoveries.get(recovery)
    if found is None or found.origin is not Origin.REQUEST or found.exception != found.raised.exception:
        return 0
    workflow = transition.state.workflows.get(transition.state.tasks[found.task].workflow)
    rules = workflow.spec.exceptions if workflow is not None and workflow.spec is not None else ()
    if any(rule.limit_within is not None or rule.without_progress for rule in rules):
        return math.inf
    return sum(rule.limit for rule in rules)


def pursue(transition: Transition, order: RequeueEntry) -> None:
    """Perform the next part of a requeue order: first a query, then the requeue.

    Args:
        transition: the present transition.
        order: the requeue order.
    """
    if order.status is OrderStatus.DECIDED:
        transition.do(AskRequeue(token=order.token, task=order.task, rjms=order.rjms, job_id=order.job_id))
    elif order.status is OrderStatus.BEGUN:
        recovery = transition.state.recoveries.get(order.recovery)
        wanted = (recovery and recovery.configuration) or transition.state.tasks[order.task].configuration
        transition.do(
            Requeue(
                token=order.token,
                task=order.task,
                rjms=order.rjms,
                job_id=order.job_id,
                restarts=order.restarts,
                withdrawn=transition.state.tasks[order.task].requeue is RequeueSaid.NOTHING,
                time=wanted.time_limit,
                memory=wanted.memory,
                avoid=to_avoid(transition.bad_nodes(), transition.now),
                sizes=transition.state.tasks[order.task].sizes,
            )
        )


def on_requeue_asked(transition: Transition, event: records.RequeueBegun) -> None:
    """Record the job's count of restarts before the requeue: a higher count later proves the requeue.

    Args:
        transition: the present transition.
        event: the event.
    """
    order = transition.state.requeues.get(event.token)
    if order is None or order.status is not OrderStatus.DECIDED:
        return
    transition.record(event)
    pursue(transition, transition.state.requeues[order.token])


def prepare(transition: Transition, entry: TaskEntry) -> None:
    """Permit the scheduler to requeue a job in danger, while it still accepts a change of the job.

    This concerns jobs that outlive the loss of a node, so that rules can act on the loss, and whose users
    have said nothing about a second run. All other jobs end or run again as they do without WHESL. The
    isolator withdrew the permission when it was welcomed. Without slurmdbd, Slurm accepts no change of a job
    after a lost node has left the job, so the permission has to be given at the first doubt.

    Args:
        transition: the present transition.
        entry: the task.
    """
    ours = entry.kept and entry.requeue is RequeueSaid.NOTHING and not observed(transition, entry)
    again = runs(entry) < transition.state.settings.requeues and pending_requeue(transition, entry) is None
    if ours and again and entry.live and entry.job_id and entry.rjms:
        transition.do(AllowRequeue(task=entry.id, rjms=entry.rjms, job_id=entry.job_id))


def observed(transition: Transition, entry: TaskEntry) -> bool:
    """Whether a task's workflow is only observed: WHESL then changes nothing.

    Args:
        transition: the present transition.
        entry: the task; one whose workflow is not registered is not observed.
    """
    workflow = transition.state.workflows.get(entry.workflow)
    return workflow is not None and workflow.observe


def runs(entry: TaskEntry) -> int:
    """Return how often a task's job was restarted before its present run, from the task's claim."""
    count = entry.claim.removeprefix(f"{entry.job_id}.")
    return int(count) if count.isdecimal() else 0


def on_requeue_allowed(transition: Transition, event: RequeueAllowed) -> None:
    """Handle the outcome of an AllowRequeue; a failure is logged, since a later requeue may be refused.

    Args:
        transition: the present transition.
        event: the event.
    """
    key = f"allow {event.task}"
    if event.outcome is not OrderStatus.DONE:
        transition.say(f"{event.task}: it could not be said whether its job may run again: {event.reason}")
    if event.outcome is OrderStatus.LATER:
        transition.wait_to_retry(key)
    else:
        transition.retry_over(key)


def pending_requeue(transition: Transition, entry: TaskEntry) -> RequeueEntry | None:
    """Return the requeue order for a task's present claim, None when there is none or it was refused.

    Args:
        transition: the present transition.
        entry: the task.
    """
    order = transition.state.requeues.get(f"{entry.id}@{entry.claim}")
    return order if order is not None and order.status is not OrderStatus.REFUSED else None


def give_up(transition: Transition, entry: TaskEntry, reason: str) -> None:
    """Fail a task that has no isolator any more, and end its job, so that the workflow manager sees the end.

    Args:
        transition: the present transition.
        entry: the task.
        reason: why the task failed, for people.
    """
    code = entry.parted.exit_code if entry.parted else 0
    transition.finished(entry, TaskState.FAILED, code or 1, reason, ToldBy.COORDINATOR)
    cancel_job(transition, entry)


def cancel_job(transition: Transition, entry: TaskEntry) -> None:
    """Cancel a task's job through the scheduler; a record ensures that a restart repeats the request.

    Args:
        transition: the present transition.
        entry: the task.
    """
    if entry.job_id and entry.rjms:
        transition.record(records.JobCancel(task=entry.id, job_id=entry.job_id))
        transition.do(CancelJob(task=entry.id, rjms=entry.rjms, job_id=entry.job_id))


def on_job_cancelled(transition: Transition, event: JobCancelled) -> None:
    """Handle the outcome of a job's cancellation.

    Args:
        transition: the present transition.
        event: the event.
    """
    if event.job_id not in transition.state.cancels:
        return
    if event.outcome is OrderStatus.LATER:
        transition.wait_to_retry(f"cancel {event.job_id}")
        return
    transition.retry_over(f"cancel {event.job_id}")
    transition.record(records.JobCancelled(task=event.task, job_id=event.job_id, reason=event.reason))
