"""By how much the clocks of isolators' hosts differ from the coordinator's. Pure.

Times in isolators' messages are by their own hosts' clocks. Of one isolator they are compared with each other
only; where what happened to several tasks is put in order (counting exceptions of a workflow, the report), a
time is first brought to the coordinator's clock. A heartbeat says when it was sent, and is never sent again:
it came as much later as its sender's clock is behind, and the network has taken; of several the least is the
best estimate (as in NTP, RFC 5905, section 10: the clock filter).
"""

from __future__ import annotations

import math

from whesl.runtime.coordinator.core.state import TaskEntry
from whesl.runtime.coordinator.core.transition_context import Transition
from whesl.runtime.journal.records import coordinator_records as records

# Differences below so many seconds are ignored: networks take as long, synchronised clocks differ by as much.
TOLERATED = 2.0
# A better estimate is worth a record where it differs by more than this (seconds).
NOTED = 1.0


def note(transition: Transition, entry: TaskEntry, sent: float) -> None:
    """Take when a heartbeat was sent, by its sender's clock; 0 where the message does not say."""
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
    """Forget a task's clock: another start of its job may be on another host."""
    if task in transition.state.volatile.late:
        transition.volatile(late=transition.state.volatile.late.without(task))
