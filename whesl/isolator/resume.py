"""The state that a task's isolator begins with: its journal, and what the task's directory shows beside it.

A journal may have lost records: it was damaged, or its isolator was killed while the disk was full. An
attempt that it knows nothing of would then be started a second time, beside itself. But every attempt has a
directory, made before it starts, with the claim it was started for; so the newest one that is there is taken
up, whatever the journal says, and what became of it is judged as always: by its processes, its output and its
exit status.
"""

from __future__ import annotations

import logging
from typing import Any

from whesl.isolator.core.changes import apply
from whesl.isolator.core.setup import token
from whesl.isolator.core.state import State
from whesl.isolator.task.taskdir import Job, TaskDir
from whesl.journal import Clock, Journal, JournalError
from whesl.model.decoding import FOREIGN

LOG = logging.getLogger(__name__)
_Records = list[tuple[str, dict[str, Any]]]


def state_of(journal: Journal, directory: TaskDir, job: Job, clock: Clock) -> State:
    """Return the state to go on from; what the journal has lost of attempts is written into it again.

    Args:
        journal: the task's.
        directory: the task's.
        job: the task.
        clock: the isolator's; it goes on from the last record's time.
    """
    damage = journal.damage
    if damage is not None:
        LOG.error("%s", damage)
    state = State(setup=job.setup)
    for record in journal.read():
        clock.follow(record.time)
        try:
            state = apply(state, record.kind, record.data, record.time)
        except FOREIGN as error:
            LOG.error("the journal's record %d (%s) is not understood: %r", record.seq, record.kind, error)
    newest = directory.newest_attempt()
    if job.first is not None and newest == 1 and not state.attempt and damage is None:
        return state  # started ahead of its journal (``first``): the core comes to the same attempt
    lost = unrecorded(state, newest, directory.claim_of(newest), directory.active_nodes())
    if not lost:
        return state
    LOG.error("the journal does not know of attempt %d, which was started: it is taken up", newest)
    now = clock()
    try:
        journal.append_many(lost, now)
    except JournalError as error:
        LOG.error("%s", error)  # the next isolator will find the same
    for kind, data in lost:
        state = apply(state, kind, data, now)
    return state


def unrecorded(state: State, newest: int, claim: str, nodes: tuple[str, ...]) -> _Records:
    """Return the records that a journal lacks of the newest attempt that was started.

    Args:
        state: as the journal has it.
        newest: the attempt's number, 0 for none.
        claim: what it was started for, '' when that is not known.
        nodes: those it was started on.
    """
    setup = state.setup
    begun = state.claim == setup.claim
    own = claim == setup.claim
    if newest < 1 or (newest <= state.attempt and (begun or not own)):
        return []
    records: _Records = []
    if own and not begun:
        said = {"claim": setup.claim, "rjms": setup.rjms, "job_id": setup.job_id, "observe": setup.observe}
        records.append(("begun", said))
    elif state.recovery is not None:
        # It ends with the start of an attempt, and that one was started.
        relaunched = {"ordinal": state.recovery.ordinal, "attempt": newest, "not_before": 0.0}
        records.append(("relaunched", relaunched))
    active = tuple(node for node in nodes if node in setup.nodes) or state.nodes.active or setup.nodes
    if active != state.nodes.active or not begun:
        spares = [node for node in setup.nodes if node not in active and node not in state.nodes.lost]
        records.append(("nodes", {"nodes": {"active": active, "spares": spares, "lost": state.nodes.lost}}))
    attempt = {"attempt": newest, "token": token(setup, newest), "nodes": active}
    records.append(("attempt", {**attempt, "configuration_version": state.configuration.version}))
    return records
