"""The state that a task's isolator begins with: its journal, and what the task's directory shows beside it.

A journal may have lost records: it was damaged, or its isolator was killed while the disk was full. An
attempt that is missing in the journal would then be started a second time, beside itself. But every attempt
has a directory, made before it starts, with the claim it was started for. So the attempt of the newest
directory is taken up, whatever the journal says, and judged as always: by its processes, its output and its
exit status.
"""

from __future__ import annotations

import contextlib
import logging

from whesl.files.decode_errors import FOREIGN
from whesl.model.allocation_nodes import NodeSet
from whesl.runtime.isolator.core.changes import apply
from whesl.runtime.isolator.core.state import State
from whesl.runtime.isolator.core.task_setup import token
from whesl.runtime.isolator.task.journal_in_memory import TaskJournal
from whesl.runtime.isolator.task.taskdir import Job, TaskDir
from whesl.runtime.journal import Clock, JournalError
from whesl.runtime.journal.records import isolator_records as records
from whesl.runtime.journal.records import of_isolator

LOG = logging.getLogger(__name__)


def state_of(journal: TaskJournal, directory: TaskDir, job: Job, clock: Clock) -> State:
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
            state = apply(state, of_isolator(record.content), record.time)
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
        journal.append_many([(found.kind, found) for found in lost], now)
    except JournalError as error:
        LOG.error("%s", error)  # the next isolator restores the same state
    for found in lost:
        state = apply(state, found, now)
    return state


def understood(journal: TaskJournal) -> list[tuple[records.AnyRecord, float]]:
    """Return the records of a journal with their times, without those that are not understood.

    Raises JournalError.
    """
    found = []
    for record in journal.read():
        with contextlib.suppress(*FOREIGN):  # ``state_of`` has named them
            found.append((of_isolator(record.content), record.time))
    return found


def unrecorded(state: State, newest: int, claim: str, nodes: tuple[str, ...]) -> list[records.AnyRecord]:
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
    lost: list[records.AnyRecord] = []
    if own and not begun:
        begin = records.Begun(claim=setup.claim, rjms=setup.rjms, job_id=setup.job_id, observe=setup.observe)
        lost.append(begin)
    elif state.recovery is not None:
        # The recovery ends with the start of an attempt, and that attempt was started.
        lost.append(records.Relaunched(ordinal=state.recovery.ordinal, attempt=newest, not_before=0.0))
    active = tuple(node for node in nodes if node in setup.nodes) or state.nodes.active or setup.nodes
    if active != state.nodes.active or not begun:
        dead = state.nodes.lost
        spares = tuple(node for node in setup.nodes if node not in active and node not in dead)
        lost.append(records.Nodes(nodes=NodeSet(active=active, spares=spares, lost=dead)))
    version = state.configuration.version
    lost.append(
        records.Attempt(
            attempt=newest, token=token(setup, newest), nodes=active, configuration_version=version
        )
    )
    return lost
