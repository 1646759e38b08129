"""A task that ended by SIGTERM to its whole job: only the scheduler knows whether the job runs again.

A job that is requeued, by its own script (``scontrol requeue``) or by preemption, is sent SIGTERM as one that
is cancelled or whose time is over. So what its isolator has said is kept until the scheduler was asked.
"""

from __future__ import annotations

from whesl.model.states import JobState
from whesl.runtime.coordinator.core.events_and_commands import JobSeen
from whesl.runtime.coordinator.core.recovery import requeue_and_silent_tasks
from whesl.runtime.coordinator.core.state import TaskEntry
from whesl.runtime.coordinator.core.transition_context import Transition
from whesl.runtime.journal.records import coordinator_records as records
from whesl.runtime.wire.messages import Finished


def part(transition: Transition, entry: TaskEntry, message: Finished) -> None:
    """Keep how a task has ended, and ask the scheduler whether its job runs again."""
    told = entry.reason
    asking = f"{told or 'its job was sent SIGTERM'}; asking {entry.rjms} whether that runs again"
    transition.record(records.Unobserved(task=entry.id, reason=asking))
    transition.record(
        records.Parted(task=entry.id, state=message.state, exit_code=message.exit_code, reason=told)
    )
    requeue_and_silent_tasks.look(transition, transition.state.tasks[entry.id], every=0.0)


def on_job_seen(transition: Transition, event: JobSeen) -> None:
    """Take the scheduler's answer about the job of a task that ended by SIGTERM, or that is silent."""
    entry = transition.state.tasks.get(event.task)
    known = entry is not None and entry.live and entry.job_id == event.job_id
    if entry is None or not known or not requeue_and_silent_tasks.asked_of(transition, entry):
        requeue_and_silent_tasks.on_job_seen(transition, event)
        return
    assert entry.parted is not None
    transition.volatile(looking=transition.state.volatile.looking.without(entry.id))
    record = event.record
    began = requeue_and_silent_tasks.runs(entry)
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
        requeue_and_silent_tasks.ended_as_told(transition, entry, record.state, word)
    elif transition.now - entry.state_time >= transition.state.settings.look:
        # The task alone was ended, or the scheduler does not answer: the task's end is known, and a new run
        # would register.
        requeue_and_silent_tasks.ended_as_told(transition, entry, JobState.UNKNOWN, "")
