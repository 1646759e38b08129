"""The differences between the clocks of isolators' hosts and the coordinator's clock. Pure.

Times in an isolator's messages are by its host's clock. Times of one isolator are compared with each other
directly. Before events of several tasks are put in order (to count a workflow's exceptions, in the report),
their times are converted to the coordinator's clock. A heartbeat carries its time of sending, and is never
sent again: its delay is the sum of the clocks' difference and the time on the network. The least delay of
several heartbeats is the best estimate of the difference (NTP's clock filter: RFC 5905, section 10).
"""

from __future__ import annotations

import math

from whesl.runtime.coordinator.core.state import TaskEntry
from whesl.runtime.coordinator.core.transition_context import Transition
from whesl.runtime.journal.records import coordinator_records as records

# Seconds: smaller differences are ignored, since networks and synchronised clocks cause as much.
TOLERATED = 2.0
# Seconds: a better estimate is recorded where it differs from the last one by more.
NOTED = 1.0


def note(transition: Transition, entry: TaskEntry, sent: float) -> None:
    """Improve the estimate of a sender's clock by the delay of a heartbeat.

    Args:
        transition: the present transition.
        entry: the task.
        sent: when the heartbeat was sent, seconds since the epoch by the sender's clock; 0 where it does
            not say.
    """
    late = transition.now - sent
    if not sent or not math.isfinite(late):
        return
    known = transition.state.volatile.late.get(entry.id)
    if known is not None and late >= known:
        return
    transition.volatile(late=transition.state.volatile.late.with_(entry.id, late))
    behind = late if abs(late) > TOLERATED else 0.0
    if abs(behind - entry.behind) > NOTED:
        transition.record(records.Clock(task=entry.id, claim=entry.claim, behind=behind))
        where = entry.nodes[0] if entry.nodes else "its host"
        word = "behind" if behind >= 0 else "ahead of"
        transition.say(f"{entry.id}: the clock of {where} is {abs(behind):.1f} s {word} the coordinator's")


def forget(transition: Transition, task: str) -> None:
    """Drop the estimate for a task's clock: its job may start again on another host.

    Args:
        transition: the present transition.
        task: the task's id.
    """
    if task in transition.state.volatile.late:
        transition.volatile(late=transition.state.volatile.late.without(task))
