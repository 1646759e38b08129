"""The initial state of a task's isolator, from its journal and the attempts' directories.

A journal may have lost records: it was damaged, or its isolator was killed while the disk was full. An
attempt that is missing in the journal would then be started a second time, beside the running one. But every
attempt has a directory, made before the attempt starts, with the claim it was started for. So the isolator
takes up the attempt of the newest directory, whatever the journal says, and judges it as usual: by its
processes, its output and its exit status.
"""

from __future__ import annotations

import contextlib
import logging

import msgspec

from whesl.files.decode_errors import FOREIGN
from whesl.model.allocation_nodes import NodeSet
from whesl.model.states import NodeState
from whesl.runtime.isolator.core.apply_record import apply
from whesl.runtime.isolator.core.events_and_commands import NodeSeen
from whesl.runtime.isolator.core.state import State
from whesl.runtime.isolator.core.task_setup import token
from whesl.runtime.isolator.task.journal_in_memory import TaskJournal
from whesl.runtime.isolator.task.taskdir import Job, TaskDir
from whesl.runtime.journal.records import isolator_records as records
from whesl.runtime.journal.records import of_isolator
from whesl.runtime.journal.sqlite_errors import JournalError
from whesl.runtime.journal.steady_clock import Clock

LOG = logging.getLogger(__name__)


def state_of(journal: TaskJournal, directory: TaskDir, job: Job, clock: Clock) -> State:
    """Return the initial state; records of attempts that the journal has lost are written again.

    Args:
        journal: the task's journal.
        directory: the task's directory.
        job: the task.
        clock: the isolator's clock; it continues from the last record's time.
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
        return state  # attempt 1 was started before its journal (``first``): the core derives the same one
    lost = unrecorded(state, newest, directory.claim_of(newest), directory.active_nodes())
    if lost:
        LOG.error("the journal does not know of attempt %d, which was started: it is taken up", newest)
    lost += added_nodes(state)
    if not lost:
        return state
    now = clock()
    try:
        journal.append_many([(found.kind, found) for found in lost], now)
    except JournalError as error:
        LOG.error("%s", error)  # the next isolator restores the same state
    for found in lost:
        state = apply(state, found, now)
    return state


def lost_script_node(job: Job, state: State) -> tuple[NodeSeen, ...]:
    """Return the loss of the node from which the task was taken over, once; () where it was not or is known.

    Args:
        job: the task.
        state: its state.
    """
    if not job.moved_from or job.moved_from in state.down:
        return ()
    reason = f"the isolator's node; {job.setup.own_node} has taken the task over"
    source = records.RESOURCE_MANAGER
    return (NodeSeen(node=job.moved_from, state=NodeState.DOWN, reason=reason, source=source, script=True),)


def understood(journal: TaskJournal) -> list[tuple[records.AnyRecord, float]]:
    """Return the records of a journal with their times, without unintelligible records.

    Raises JournalError.
    """
    found = []
    for record in journal.read():
        with contextlib.suppress(*FOREIGN):  # ``state_of`` has logged the unintelligible records
            found.append((of_isolator(record.content), record.time))
    return found


def added_nodes(state: State) -> list[records.AnyRecord]:
    """Return the record of the nodes that the job has got since its nodes were recorded, as spares."""
    nodes = state.nodes
    added = tuple(node for node in state.setup.nodes if node not in nodes.all)
    if not nodes.active or state.claim != state.setup.claim or not added:
        return []
    return [records.Nodes(nodes=msgspec.structs.replace(nodes, spares=(*nodes.spares, *added)))]


def unrecorded(state: State, newest: int, claim: str, nodes: tuple[str, ...]) -> list[records.AnyRecord]:
    """Return the records of the newest started attempt that a journal lacks.

    Args:
        state: the state by the journal.
        newest: the newest attempt's number, 0 for none.
        claim: the claim that the attempt was started for, '' when not known.
        nodes: the nodes that the attempt was started on.
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
        split = NodeSet(active=active, spares=spares, lost=dead, components=setup.components)
        lost.append(records.Nodes(nodes=split))
    version = state.configuration.version
    lost.append(
        records.Attempt(
            attempt=newest, token=token(setup, newest), nodes=active, configuration_version=version
        )
    )
    return lost
