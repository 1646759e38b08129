"""Tasks whose isolators are silent: *unobserved*, neither running nor gone.

The coordinator asks the scheduler, and only the scheduler's answer counts: the job has ended, or has lost its
batch host. Without an answer nothing changes.
"""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from whesl.managers.resource.port import JobRecord
from whesl.model.bad_node_expiry import SECONDS
from whesl.model.outcomes import OrderStatus, ToldBy
from whesl.model.states import JobState, TaskState
from whesl.model.workflow import BadNode, Grade
from whesl.runtime.coordinator.core.events_and_commands import JobSeen, LookAtJob
from whesl.runtime.coordinator.core.recovery import dependent_reconfiguration, requeue_orders
from whesl.runtime.coordinator.core.state import RequeueEntry, TaskEntry
from whesl.runtime.coordinator.core.transition_context import Transition
from whesl.runtime.journal.records import coordinator_records as records

_LOST = frozenset({JobState.NODE_FAIL, JobState.OUT_OF_MEMORY})
# Seconds between two queries about a job that ends or runs again.
SOON = 1.0
# Seconds from the loss of a batch host for which another node of the job may take the task over.
MOVES_WITHIN = 60.0
_STATES = {JobState.COMPLETED: TaskState.COMPLETED, JobState.CANCELLED: TaskState.CANCELLED}


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
        order = requeue_orders.pending_requeue(transition, entry)
        done = order is not None and order.status is OrderStatus.DONE
        # The batch host of a requeued run is looked up before the job can lose that host.
        begins = done and order is not None and not order.host
        if not silent and not begins and entry.state is not TaskState.UNOBSERVED:
            continue
        if silent and order is None and entry.state is not TaskState.UNOBSERVED:
            transition.record(records.Unobserved(task=entry.id, reason=_silence(settings.silence)))
            requeue_orders.prepare(transition, entry)
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


def _tell_wait(transition: Transition, entry: TaskEntry, record: JobRecord) -> None:
    """Give as a task's reason why its job waits to run again, and then that it runs."""
    waits = f"job {entry.job_id} waits: "
    if record.state is JobState.PENDING and record.reason:
        reason = waits + record.reason
    elif entry.reason.startswith(waits):
        reason = f"job {entry.job_id} runs again, and has not been heard of"
    else:
        return
    if entry.reason != reason:
        transition.record(records.JobWaits(task=entry.id, reason=reason))
        transition.say(f"{entry.id}: {reason}")


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
    order = requeue_orders.pending_requeue(transition, entry)
    start = not requeue_orders.observed(transition, entry) and (entry.parted is None or order is not None)
    transition.do(
        LookAtJob(
            task=entry.id,
            rjms=entry.rjms,
            job_id=entry.job_id,
            start=start,
            used=entry.nodes,
            sizes=entry.sizes,
        )
    )


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
    order = requeue_orders.pending_requeue(transition, entry)
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
        if record is not None:
            _tell_wait(transition, entry, record)
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
    return parted and requeue_orders.pending_requeue(transition, entry) is None


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
    elif state is JobState.NODE_FAIL and len(entry.nodes) == 1:
        reason += f"; the job had no node besides {entry.nodes[0]}"
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
    same_run = entry.claim == f"{entry.job_id}.{record.restarts}"
    if order is None and same_run and entry.moves and record.batch_host not in entry.nodes:
        # Another node has taken the task over from the batch host; that node may be lost in its turn.
        return entry.nodes[0] if entry.nodes[0] not in record.nodes else None
    if record.batch_host_lost:
        return record.batch_host
    if order is not None:
        known = order.host and record.batch_host and order.host_restarts == record.restarts
        return order.host if known and order.host != record.batch_host else None
    if same_run and record.state is JobState.RUNNING and record.batch_host in entry.nodes[1:]:
        return entry.nodes[0]
    return None


def _batch_host_lost(transition: Transition, entry: TaskEntry, host: str) -> None:
    workflow = transition.state.workflows.get(entry.workflow)
    reason = f"its batch host {host or '(unknown)'} is lost"
    if workflow is not None and workflow.observe:
        transition.say(f"{entry.id}: observed: {reason}; would run job {entry.job_id} again")
        return
    hostless = transition.state.volatile.hostless
    if entry.moves and transition.now < hostless.get(entry.id, transition.now) + MOVES_WITHIN:
        if entry.id not in hostless:
            transition.say(f"{entry.id}: {reason}; another of the job's nodes may take the task over")
            transition.volatile(hostless=hostless.with_(entry.id, transition.now))
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
    if requeue_orders.pending_requeue(transition, entry) is not None:
        requeue_orders.give_up(transition, entry, f"{reason}; {requeue_orders.SPENT}")
        return
    why = requeue_orders.order_requeue(transition, entry.id, reason)
    if why == requeue_orders.UNWANTED and entry.id not in hostless:
        # The scheduler may soon end the job itself; its reason is more informative than a cancellation.
        transition.volatile(hostless=hostless.with_(entry.id, transition.now))
    elif why:
        requeue_orders.give_up(transition, entry, f"{reason}; {why}")
