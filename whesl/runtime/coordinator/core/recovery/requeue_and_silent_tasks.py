"""Escalated exceptions and silent tasks: the job runs again, or the task fails or pauses.

An exception that a task cannot handle in its allocation is escalated to the coordinator. A task whose
isolator is silent is *unobserved*: neither running nor gone. The coordinator asks the scheduler, and only the
scheduler's answer counts: the job has ended, or has lost its batch host. Without an answer nothing changes.
"""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from whesl.language.spec import Otherwise
from whesl.managers.resource.port import JobRecord
from whesl.model.bad_node_expiry import SECONDS
from whesl.model.outcomes import OrderStatus, RequeueSaid, ToldBy, Verdict
from whesl.model.states import JobState, TaskState
from whesl.model.workflow import BadNode, Grade
from whesl.runtime.coordinator.core.events_and_commands import (
    AllowRequeue,
    AskRequeue,
    CancelJob,
    JobCancelled,
    JobSeen,
    LookAtJob,
    Requeue,
    RequeueAllowed,
    RequeueAsked,
)
from whesl.runtime.coordinator.core.recovery import dependent_reconfiguration
from whesl.runtime.coordinator.core.recovery.coordinator_step_plan import exception_of
from whesl.runtime.coordinator.core.state import Recovery, RequeueEntry, TaskEntry
from whesl.runtime.coordinator.core.transition_context import Transition
from whesl.runtime.journal.records import coordinator_records as records
from whesl.runtime.wire.messages import EscalationDecision

SPENT = "the job was run again already, and is not run a third time"
UNWANTED = "its user wants no second run (--no-requeue)"
_LOST = frozenset({JobState.NODE_FAIL, JobState.OUT_OF_MEMORY})
# Seconds between two queries about a job that ends or runs again.
SOON = 1.0
# Reasons for an escalation where another allocation would help.
_ALLOCATION = frozenset({"spares-exhausted", "allocation-lost"})
_STATES = {JobState.COMPLETED: TaskState.COMPLETED, JobState.CANCELLED: TaskState.CANCELLED}


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
    if used >= transition.state.settings.requeues:
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


def pursue(transition: Transition, order: RequeueEntry) -> None:
    """Perform the next part of a requeue order: first a query, then the requeue.

    Args:
        transition: the present transition.
        order: the requeue order.
    """
    if order.status is OrderStatus.DECIDED:
        transition.do(AskRequeue(token=order.token, rjms=order.rjms, job_id=order.job_id))
    elif order.status is OrderStatus.BEGUN:
        recovery = transition.state.recoveries.get(order.recovery)
        wanted = (recovery and recovery.configuration) or transition.state.tasks[order.task].configuration
        transition.do(
            Requeue(
                token=order.token,
                rjms=order.rjms,
                job_id=order.job_id,
                restarts=order.restarts,
                withdrawn=transition.state.tasks[order.task].requeue is RequeueSaid.NOTHING,
                time=wanted.time_limit,
                memory=wanted.memory,
            )
        )


def on_requeue_asked(transition: Transition, event: RequeueAsked) -> None:
    """Record the job's count of restarts before the requeue: a higher count later proves the requeue.

    Args:
        transition: the present transition.
        event: the event.
    """
    order = transition.state.requeues.get(event.token)
    if order is None or order.status is not OrderStatus.DECIDED:
        return
    transition.record(records.RequeueBegun(token=order.token, task=order.task, restarts=event.restarts))
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
    ours = entry.kept and entry.requeue is RequeueSaid.NOTHING and not _observed(transition, entry)
    again = runs(entry) < transition.state.settings.requeues and pending_requeue(transition, entry) is None
    if ours and again and entry.live and entry.job_id and entry.rjms:
        transition.do(AllowRequeue(task=entry.id, rjms=entry.rjms, job_id=entry.job_id))


def _observed(transition: Transition, entry: TaskEntry) -> bool:
    """Whether a task's workflow is only observed: WHESL then changes nothing."""
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


# A silent task -----------------------------------------------------------------------------------------


def watch(transition: Transition) -> None:
    """Notice silent tasks, and ask the scheduler about their jobs.

    A coordinator that restarts more often than its limit of silence would never notice a silent task. So at a
    missed heartbeat the time of the last one is recorded. A restarted coordinator that misses a heartbeat too
    counts the silence from the recorded time.
    """
    settings = transition.state.settings
    limit, doubt = settings.silence, settings.doubt
    heard_at, started, tasks = (
        transition.state.volatile.heard,
        transition.state.volatile.started,
        transition.state.tasks,
    )
    quiet: dict[str, float] = {}
    for task in transition.state.live:
        entry = tasks[task]
        since = max(heard_at.get(task, 0.0), started)
        doubtful = transition.now - since >= doubt
        if doubtful and not entry.quiet:
            quiet[task] = since
        elif doubtful:
            since = min(since, entry.quiet)
        silent = doubtful and transition.now - since >= limit
        order = pending_requeue(transition, entry)
        done = order is not None and order.status is OrderStatus.DONE
        # The batch host of a requeued run is looked up before the job can lose that host.
        begins = done and order is not None and not order.host
        if not silent and not begins and entry.state is not TaskState.UNOBSERVED:
            continue
        if silent and order is None and entry.state is not TaskState.UNOBSERVED:
            transition.record(records.Unobserved(task=entry.id, reason=_silence(settings.silence)))
            prepare(transition, entry)
            transition.say(
                f"{entry.id}: its isolator is silent; asking {entry.rjms or 'nobody: no scheduler'}"
            )
        unobserved = transition.state.tasks[entry.id].state is TaskState.UNOBSERVED
        if begins or (done and silent) or (unobserved and order_is_quiet(order)):
            look(transition, transition.state.tasks[entry.id], SOON if asked_of(transition, entry) else None)
    if quiet:
        transition.record(records.Quiet(tasks=quiet))


def _silence(limit: float) -> str:
    return f"nothing was heard for {limit:g} s"


def _explain_silence(transition: Transition, entry: TaskEntry, *, suspended: bool) -> None:
    """Give "job is suspended" as an unobserved task's reason while its job is suspended."""
    told = f"job {entry.job_id} is suspended"
    if suspended is not (entry.reason == told):
        reason = told if suspended else _silence(transition.state.settings.silence)
        transition.record(records.Unobserved(task=entry.id, reason=reason))


def order_is_quiet(order: RequeueEntry | None) -> bool:
    """Whether no requeue order is under way that would query the job itself."""
    return order is None or order.status is OrderStatus.DONE


def look(transition: Transition, entry: TaskEntry, every: float | None = None) -> None:
    """Ask the scheduler about a task's job, unless the last query is more recent than ``every`` seconds.

    Args:
        transition: the present transition.
        entry: the task.
        every: the least number of seconds between two queries; None: the setting ``look``.
    """
    volatile = transition.state.volatile
    due = volatile.looked.get(entry.id, 0.0) + (transition.state.settings.look if every is None else every)
    if entry.id in volatile.looking or transition.now < due or not entry.job_id or not entry.rjms:
        return
    transition.volatile(
        looking=volatile.looking.with_(entry.id, None), looked=volatile.looked.with_(entry.id, transition.now)
    )
    # The hold of a job that its user has requeued is left to Slurm.
    order = pending_requeue(transition, entry)
    start = not _observed(transition, entry) and (entry.parted is None or order is not None)
    transition.do(LookAtJob(task=entry.id, rjms=entry.rjms, job_id=entry.job_id, start=start))


def on_job_seen(transition: Transition, event: JobSeen) -> None:
    """Handle the scheduler's answer about a silent task's job. An end counts only when it is seen twice.

    Args:
        transition: the present transition.
        event: the event.
    """
    volatile = transition.state.volatile
    transition.volatile(looking=volatile.looking.without(event.task))
    entry = transition.state.tasks.get(event.task)
    if entry is None or not entry.live or entry.job_id != event.job_id:
        return
    order = pending_requeue(transition, entry)
    contest = volatile.contests.get(entry.id)
    if entry.state is not TaskState.UNOBSERVED and order is None and contest is None:
        return
    if event.unseen:
        known = volatile.unseen.get(entry.id)
        transition.volatile(unseen=volatile.unseen.with_(entry.id, event.unseen))
        if contest is not None:
            unseen = msgspec.structs.replace(contest, unseen=transition.now)
            transition.volatile(contests=volatile.contests.with_(entry.id, unseen))
        if known is None:
            transition.say(f"{entry.id}: job {event.job_id} could not be observed: {event.unseen}")
        return
    transition.volatile(unseen=volatile.unseen.without(entry.id))
    record = event.record
    ended = record is None or record.state.ended
    if not ended:
        if entry.over:
            transition.record(records.Over(task=entry.id, since=0.0))
        if contest is not None:
            lives = msgspec.structs.replace(contest, lives=True)
            transition.volatile(contests=volatile.contests.with_(entry.id, lives))
        host = _lost_batch_host(entry, record, order) if record is not None else None
        if host is None:
            transition.volatile(hostless=transition.state.volatile.hostless.without(entry.id))
        if host is not None:
            _batch_host_lost(transition, entry, host)
        elif order is not None and record is not None and _new_run(order, record):
            _note_start(transition, order, record)
        elif entry.state is TaskState.UNOBSERVED:
            _explain_silence(transition, entry, suspended=record is not None and record.suspended)
        return
    if not 0 < entry.over <= transition.now:
        # The last messages of the task's isolator may still be on their way.
        transition.record(records.Over(task=entry.id, since=transition.now))
        return
    patience = transition.state.settings.look / 2
    if order is not None and record is not None and record.restarts <= order.restarts:
        # The old run has ended: the scheduler has yet to start the new run.
        patience = transition.state.settings.look * 6
    if transition.now - entry.over >= patience:
        _ended_silently(transition, entry, record, event.down)


def _ended_silently(
    transition: Transition, entry: TaskEntry, record: JobRecord | None, down: Collection[str]
) -> None:
    if record is None:
        ended_unheard(
            transition, entry, entry.job_id, JobState.FAILED, "the scheduler does not know it any more", -1
        )
    else:
        word = record.raw_state or record.state.value
        ended_unheard(transition, entry, entry.job_id, record.state, word, record.status, down)


def asked_of(transition: Transition, entry: TaskEntry) -> bool:
    """Whether a task ended by SIGTERM to its whole job, and it is not known yet whether the job runs again.

    Args:
        transition: the present transition.
        entry: the task.
    """
    parted = entry.parted is not None and not entry.parted.again
    return parted and pending_requeue(transition, entry) is None


def ended_as_told(transition: Transition, entry: TaskEntry, state: JobState, detail: str) -> None:
    """Record the end of a task as its isolator reported it, since the task's job does not run again.

    Args:
        transition: the present transition.
        entry: the task.
        state: the job's state.
        detail: the scheduler's name for that state, "" where the job has not ended.
    """
    assert entry.parted is not None
    told = entry.parted
    lost = state in _LOST and told.state is TaskState.CANCELLED
    became = TaskState.FAILED if lost else told.state
    reason = f"{told.reason} ({detail})" if told.reason and detail else told.reason
    transition.finished(entry, became, told.exit_code, reason, ToldBy.SCHEDULER)
    transition.close(entry, became)
    transition.say(f"{entry.id}: {became.value}: {reason}")
    dependent_reconfiguration.tell_of_failure(transition, entry)


def ended_unheard(
    transition: Transition,
    entry: TaskEntry,
    job: str,
    state: JobState,
    detail: str,
    code: int,
    down: Collection[str] = (),
) -> None:
    """Record the end of a task whose job ended without a report of the task's isolator.

    The scheduler may call a job that outlives losses of nodes (Slurm: ``--no-kill``) completed although the
    task's ranks on a lost node did not finish. Such a task counts as failed.

    Args:
        transition: the present transition.
        entry: the task.
        job: the id of the task's job, '' when no job of the task ever began.
        state: the job's state.
        detail: the scheduler's name for that state; without a job, why there is no job.
        code: the job's exit status, -1 for none.
        down: nodes that left the job and are down, if the scheduler was asked for them.
    """
    if asked_of(transition, entry):
        ended_as_told(transition, entry, state, detail)
        return
    became = _STATES.get(state, TaskState.FAILED)
    reason = f"job {job} ended and its isolator did not say how: {detail}" if job else detail
    lost = [node for node in entry.uses if node in entry.lost or node in down]
    if lost and became is TaskState.COMPLETED:
        became = TaskState.FAILED
        reason += f"; {', '.join(lost)} {'were' if len(lost) > 1 else 'was'} lost while the task used it"
    transition.finished(entry, became, code, reason, ToldBy.SCHEDULER)
    transition.say(f"{entry.id}: {became.value}: {reason}")
    dependent_reconfiguration.tell_of_failure(transition, entry)


def _note_start(transition: Transition, order: RequeueEntry, record: JobRecord) -> None:
    host, restarts = record.batch_host, record.restarts
    if host and (not order.host or order.host_restarts != restarts):
        transition.record(
            records.RequeueStarted(token=order.token, task=order.task, host=host, restarts=restarts)
        )


def _new_run(order: RequeueEntry, record: JobRecord) -> bool:
    """Whether a job's record shows a run that a requeue order has caused.

    The scheduler may restart the job more than once for one order: Slurm restarts a run that it had placed on
    a dead node, and counts both runs.
    """
    done = order.status is OrderStatus.DONE and record.restarts > order.restarts
    return done and record.state is JobState.RUNNING


def _lost_batch_host(entry: TaskEntry, record: JobRecord, order: RequeueEntry | None) -> str | None:
    """Return the batch host that a job has lost ('' where its name is unknown), None when none is lost.

    A Slurm controller that restarts after the loss may name another node of the job as the batch host.
    """
    if order is not None and not _new_run(order, record):
        return None
    if record.batch_host_lost:
        return record.batch_host
    if order is not None:
        known = order.host and record.batch_host and order.host_restarts == record.restarts
        return order.host if known and order.host != record.batch_host else None
    same_run = entry.claim == f"{entry.job_id}.{record.restarts}"
    if same_run and record.state is JobState.RUNNING and record.batch_host in entry.nodes[1:]:
        return entry.nodes[0]
    return None


def _batch_host_lost(transition: Transition, entry: TaskEntry, host: str) -> None:
    workflow = transition.state.workflows.get(entry.workflow)
    reason = f"its batch host {host or '(unknown)'} is lost"
    if workflow is not None and workflow.observe:
        transition.say(f"{entry.id}: observed: {reason}; would run job {entry.job_id} again")
        return
    if host:
        bad = BadNode(
            node=host,
            reason="lost under a job, by the scheduler's word",
            task=entry.id,
            time=transition.now,
            expires=transition.now + SECONDS[Grade.LOST],
            source="scheduler",
        )
        transition.record(records.BadNodeSeen(bad_node=bad, task=entry.id))
    if pending_requeue(transition, entry) is not None:
        give_up(transition, entry, f"{reason}; {SPENT}")
        return
    why = order_requeue(transition, entry.id, reason)
    hostless = transition.state.volatile.hostless
    if why == UNWANTED and entry.id not in hostless:
        # The scheduler may soon end the job itself; its reason is more informative than a cancellation.
        transition.volatile(hostless=hostless.with_(entry.id, None))
    elif why:
        give_up(transition, entry, f"{reason}; {why}")


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
