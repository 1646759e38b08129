"""Another job's claim on a task that has an owner. Pure.

The owner's last message may not have arrived: its node died, or the coordinator was out of reach. So the
claim is refused only after the owner sends a message, or the resource manager answers for the owner's job.
Meanwhile the claiming isolator repeats its registration and starts nothing.
"""

from __future__ import annotations

import msgspec

from whesl.model.states import TaskState
from whesl.runtime.coordinator.core.recovery import silent_tasks
from whesl.runtime.coordinator.core.state import Contest, TaskEntry
from whesl.runtime.coordinator.core.transition_context import Transition
from whesl.runtime.wire.messages import Register, Welcome

AGAIN = 2.0  # seconds between two registrations of the claiming isolator
LIMIT = 60.0  # seconds without an answer of the resource manager after which the claim is refused


def held(transition: Transition, entry: TaskEntry, message: Register) -> bool:
    """Whether a claim has to wait instead of being refused, since its task's owner may have ended.

    Args:
        transition: the present transition.
        entry: the task.
        message: the registration of another claim.
    """
    other_job = message.job_id != entry.job_id and message.claim not in entry.fenced
    if not other_job or entry.state.final or not (entry.claim and entry.job_id and entry.rjms):
        return False
    contests = transition.state.volatile.contests
    known = contests.get(entry.id)
    if known is None or transition.now - known.asked > LIMIT:
        known = Contest(since=transition.now, asked=transition.now)
    heard = transition.state.volatile.heard.get(entry.id, 0.0) > known.since
    # The manager's answer may be on its way, or wait to be written to the journal.
    silent = entry.id in transition.state.volatile.unseen and known.unseen - known.since >= LIMIT
    if known.lives or heard or silent:
        return False
    transition.volatile(
        contests=contests.with_(entry.id, msgspec.structs.replace(known, asked=transition.now))
    )
    silent_tasks.look(transition, entry, every=AGAIN)
    return True


def wait(transition: Transition, peer: str, message: Register, reason: str) -> None:
    """Tell a claiming isolator to register again later.

    Args:
        transition: the present transition.
        peer: the claiming isolator.
        message: the registration of that isolator.
        reason: why the isolator is not admitted yet.
    """
    transition.send(peer, Welcome(task=message.task, admitted=False, reason=reason, again=AGAIN))


def over(transition: Transition, task: str) -> None:
    """Drop the contest for a task, since it is decided.

    Args:
        transition: the present transition.
        task: the task's id.
    """
    contests = transition.state.volatile.contests
    if task in contests:
        transition.volatile(contests=contests.without(task))


def why(transition: Transition, entry: TaskEntry) -> str:
    """Return why another job's claim is refused while a task has an owner.

    Args:
        transition: the present transition.
        entry: the task.
    """
    claim = f"job {entry.job_id or '(none)'} (claim {entry.claim})"
    unseen = transition.state.volatile.unseen.get(entry.id)
    if unseen is not None:
        return (
            f"{claim} perhaps still runs it: {entry.rjms} cannot be asked: {unseen}; "
            f"when that job has surely ended, say so: whesl cancel {entry.id}"
        )
    return f"{claim} {'perhaps still runs it' if entry.state is TaskState.UNOBSERVED else 'runs it'}"
