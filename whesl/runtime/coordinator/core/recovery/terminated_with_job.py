"""Tasks that ended by SIGTERM to their whole job: only the scheduler knows whether the job runs again.

A requeued job gets SIGTERM, whether its own script (``scontrol requeue``) or preemption requeues it; so does
a job that is cancelled or whose time is over. So the isolator's report is kept until the scheduler has
answered.
"""

from __future__ import annotations

from whesl.model.states import JobState
from whesl.runtime.coordinator.core.events_and_commands import JobSeen
from whesl.runtime.coordinator.core.recovery import requeue_orders, silent_tasks
from whesl.runtime.coordinator.core.state import TaskEntry
from whesl.runtime.coordinator.core.transition_context import Transition
from whesl.runtime.journal.records import coordinator_records as records
from whesl.runtime.wire.messages import Finished


def part(transition: Transition, entry: TaskEntry, message: Finished) -> None:
    """Keep the reported end of a task, and ask the scheduler whether the task's job runs again.

    Args:
        transition: the present transition.
        entry: the task.
        message: the isolator's report of the end.
    """
    told = entry.reason
    asking = f"{told or 'its job was sent SIGTERM'}; asking {entry.rjms} whether that runs again"
    transition.record(records.Unobserved(task=entry.id, reason=asking))
    transition.record(
        records.Parted(task=entry.id, state=message.state, exit_code=message.exit_code, reason=told)
    )
    silent_tasks.look(transition, transition.state.tasks[entry.id], every=0.0)


def on_job_seen(transition: Transition, event: JobSeen) -> None:
    """Handle the scheduler's answer about the job of a task that ended by SIGTERM, or that is silent.

    Args:
        transition: the present transition.
        event: the event.
    """
    entry = transition.state.tasks.get(event.task)
    known = entry is not None and entry.live and entry.job_id == event.job_id
    if entry is None or not known or not silent_tasks.asked_of(transition, entry):
        silent_tasks.on_job_seen(transition, event)
        return
    assert entry.parted is not None
    transition.volatile(looking=transition.state.volatile.looking.without(entry.id))
    record = event.record
    began = requeue_orders.runs(entry)
    if record is not None and (record.state is JobState.PENDING or record.restarts > began):
        told, reason = entry.parted, f"job {entry.job_id} was requeued, and runs again"
        transition.record(records.Unobserved(task=entry.id, reason=reason))
        transition.record(
            records.Parted(
                task=entry.id, state=told.state, exit_code=told.exit_code, reason=told.reason, again=True
            )
        )
        transition.say(f"{entry.id}: {reason}")
    elif record is not None and record.state.ended:
        word = record.raw_state or record.state.value
        silent_tasks.ended_as_told(transition, entry, record.state, word)
    elif transition.now - entry.state_time >= transition.state.settings.look:
        # Only the task was ended, or the scheduler does not answer: the reported end counts. A new run of the
        # job would register.
        silent_tasks.ended_as_told(transition, entry, JobState.UNKNOWN, "")
