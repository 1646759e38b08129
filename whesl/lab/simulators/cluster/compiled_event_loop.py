"""The event loop of the policy ``reliable``, compiled by numba like the policy's predictors.

At equal times the order is: ends of jobs, failures and repairs, arrivals, one pass of the policy. A job whose
node fails is killed, waits again at its place by arrival, and resumes from its own last checkpoint.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from whesl.lab.simulators.cluster import node_bit_sets
from whesl.lab.simulators.cluster.running_jobs import enter, leave, pop, push
from whesl.lab.simulators.cluster.simulation_records import Attempts
from whesl.lab.simulators.cluster.waiting_jobs import Waiting, add, fitting, following, none_of
from whesl.placement.policies.easy import reservation
from whesl.placement.policies.reliable import expected_loss, select, worth_waiting
from whesl.prediction.numba_jit import jit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whesl.lab.simulators.cluster.simulation_records import Faults, Workload
    from whesl.prediction.failures.compiled_predictor import Compiled

# Indices into ``Machine.state``.
ARRIVED, ACTIVE, PENDING, FIRST, WAITING, FREE, ATTEMPTS, USED, CHANGE = range(9)


class Machine(NamedTuple):
    """The state of a simulated machine.

    Attributes:
        state: the values ARRIVED to CHANGE, shape (9,).
        left: remaining run time of each job, in seconds, shape (jobs,).
        limit: remaining estimate of each job, in seconds, shape (jobs,).
        free: bit set of the free nodes.
        owner: the last attempt on each node, shape (nodes,); empty where no node fails.
        ends, sizes, listed: latest end in seconds, number of nodes, and index of each running attempt,
            ordered by latest end.
        times, items: heap of the attempts' ends in seconds, and the attempts; killed attempts stay in the
            heap. job, start, end, killed, offsets,
        first, length: as in ``Attempts``, with spare room.
    """

    state: NDArray[np.int64]
    left: NDArray[np.float64]
    limit: NDArray[np.float64]
    free: NDArray[np.int64]
    owner: NDArray[np.int64]
    ends: NDArray[np.float64]
    sizes: NDArray[np.int64]
    listed: NDArray[np.int64]
    times: NDArray[np.float64]
    items: NDArray[np.int64]
    job: NDArray[np.int64]
    start: NDArray[np.float64]
    end: NDArray[np.float64]
    killed: NDArray[np.bool_]
    offsets: NDArray[np.int64]
    first: NDArray[np.int32]
    length: NDArray[np.int32]


def fresh(work: Workload, nodes: int, faults: Faults) -> Machine:
    """Return the machine before the first event, with all nodes up and free.

    Args:
        work: the jobs.
        nodes: number of nodes of the machine.
        faults: failures and repairs of nodes.
    """
    count = len(work.submit)
    state = np.zeros(9, dtype=np.int64)
    state[FREE] = nodes
    most = min(nodes, count)
    room = count + most + 1
    return Machine(
        state,
        work.run.copy(),
        work.estimate.copy(),
        node_bit_sets.full(nodes),
        np.empty(nodes if len(faults.time) else 0, dtype=np.int64),
        np.empty(most + 1),
        np.empty(most + 1, dtype=np.int64),
        np.empty(most + 1, dtype=np.int64),
        np.empty(2 * most + 1),
        np.empty(2 * most + 1, dtype=np.int64),
        np.empty(room, dtype=np.int64),
        np.empty(room),
        np.full(room, np.inf),
        np.zeros(room, dtype=np.bool_),
        np.zeros(room + 1, dtype=np.int64),
        np.empty(2 * count + nodes, dtype=np.int32),
        np.empty(2 * count + nodes, dtype=np.int32),
    )


def simulate(work: Workload, nodes: int, faults: Faults, compiled: Compiled) -> Attempts:
    """Simulate a workload to its end.

    Args:
        work: the jobs.
        nodes: number of nodes of the machine.
        faults: failures and repairs of nodes.
        compiled: the predictor that the policy asks about nodes.

    Returns:
        All attempts. A job that never fits, because nodes stay down, has no attempt.
    """
    machine = fresh(work, nodes, faults)
    queue = none_of(len(work.submit))
    while not advance(work, nodes, faults, compiled, queue, machine):
        machine = with_room(machine, min(nodes, len(work.submit)), nodes)
    return attempts(machine)


def attempts(machine: Machine) -> Attempts:
    """Return the attempts of a simulation."""
    count, used = int(machine.state[ATTEMPTS]), int(machine.state[USED])
    return Attempts(
        machine.job[:count],
        machine.start[:count],
        machine.end[:count],
        machine.killed[:count],
        machine.offsets[: count + 1],
        machine.first[:used],
        machine.length[:used],
    )


def with_room(machine: Machine, starts: int, runs: int) -> Machine:
    """Return the machine with room for one more pass.

    Args:
        machine: the machine.
        starts: largest number of attempts that the pass starts.
        runs: largest number of runs of consecutive nodes that the pass adds.
    """
    room = _grown(len(machine.job), int(machine.state[ATTEMPTS]) + starts + 1)
    lines = _grown(len(machine.first), int(machine.state[USED]) + runs)
    heap = _grown(len(machine.times), int(machine.state[PENDING]) + starts)
    return machine._replace(
        job=_longer(machine.job, room),
        start=_longer(machine.start, room),
        end=_longer(machine.end, room, np.inf),
        killed=_longer(machine.killed, room),
        offsets=_longer(machine.offsets, room + 1),
        first=_longer(machine.first, lines),
        length=_longer(machine.length, lines),
        times=_longer(machine.times, heap),
        items=_longer(machine.items, heap),
    )


def _grown(present: int, need: int) -> int:
    return present if present >= need else max(need, 2 * present)


def _longer(values: NDArray[Any], count: int, filler: float = 0) -> NDArray[Any]:
    return np.concatenate([values, np.full(count - len(values), filler, values.dtype)])


@jit
def saved(elapsed: float, checkpoint: float) -> float:
    """Return the progress of an attempt that its last checkpoint keeps, in seconds.

    Args:
        elapsed: time since the attempt's start, in seconds.
        checkpoint: interval between checkpoints, in seconds; ``inf`` for none.
    """
    if checkpoint == np.inf or checkpoint <= 0.0:
        return 0.0
    return float(np.floor(elapsed / checkpoint) * checkpoint)


@jit
def own(owner: NDArray[np.int64], begin: int, count: int, attempt: int) -> None:
    """Record an attempt as the owner of consecutive nodes.

    Args:
        owner: the last attempt on each node, changed in place.
        begin: the first node.
        count: number of nodes.
        attempt: the attempt.
    """
    for node in range(begin, begin + count):
        owner[node] = attempt


# Arrays are taken out of the tuples once, since each access costs two atomic reference counts.
@jit
def advance(
    work: Workload, nodes: int, faults: Faults, compiled: Compiled, queue: Waiting, machine: Machine
) -> bool:
    """Simulate; return True at the end, or False if the arrays have no room for another pass.

    Args:
        work: the jobs.
        nodes: number of nodes of the machine.
        faults: failures and repairs of nodes.
        compiled: the predictor that the policy asks about nodes.
        queue: the waiting jobs, changed in place.
        machine: the machine's state, changed in place.
    """
    submit, size, checkpoint = work.submit, work.size, work.checkpoint
    count = len(submit)
    fault_time, fault_node, fault_up = faults.time, faults.node, faults.up
    changes = len(fault_time)
    waits = queue.bits
    (
        state,
        left,
        limit,
        free_nodes,
        owner,
        ends,
        sizes,
        listed,
        times,
        items,
        jobs,
        starts,
        stops,
        killed,
        offsets,
        firsts,
        lengths,
    ) = machine
    arrived, active, pending, first, waiting = state[0], state[1], state[2], state[3], state[4]
    free, attempts, used, change = state[5], state[6], state[7], state[8]
    pool = np.empty(nodes, dtype=np.int64)
    chosen = np.empty(nodes, dtype=np.int64)
    later = np.empty(nodes, dtype=np.int64)
    due = np.inf
    most = min(nodes, count)
    head = -1
    shadow = np.inf
    extra = 0
    stale = True
    done = True
    while arrived < count or active > 0 or waiting > 0:
        if attempts + most >= len(jobs) or used + nodes > len(firsts) or pending + most > len(times):
            done = False
            break
        now = np.inf
        if arrived < count:
            now = submit[arrived]
        while pending > 0 and killed[items[0]]:
            pop(times, items, pending)
            pending -= 1
        if pending > 0:
            now = min(now, times[0])
        if change < changes:
            now = min(now, fault_time[change])
        if waiting > 0:
            now = min(now, due)
        if now == np.inf:
            break

        while pending > 0 and times[0] == now:
            attempt = pop(times, items, pending)
            pending -= 1
            if killed[attempt]:
                continue
            job = jobs[attempt]
            stops[attempt] = now
            for run in range(offsets[attempt], offsets[attempt + 1]):
                node_bit_sets.insert(free_nodes, firsts[run], lengths[run])
            free += size[job]
            leave(ends, sizes, listed, active, starts[attempt] + limit[job], attempt)
            active -= 1
            stale = True

        while change < changes and fault_time[change] == now:
            node = fault_node[change]
            stale = True
            if fault_up[change]:
                node_bit_sets.insert(free_nodes, node, 1)
                free += 1
            else:
                if free_nodes[node >> 6] & (1 << (node & 63)) == 0:
                    attempt = owner[node]
                    job = jobs[attempt]
                    killed[attempt] = True
                    stops[attempt] = now
                    for run in range(offsets[attempt], offsets[attempt + 1]):
                        node_bit_sets.insert(free_nodes, firsts[run], lengths[run])
                    free += size[job]
                    leave(ends, sizes, listed, active, starts[attempt] + limit[job], attempt)
                    active -= 1
                    kept = saved(now - starts[attempt], checkpoint[job])
                    left[job] -= kept
                    limit[job] -= kept
                    add(queue, job, size[job], limit[job])
                    waiting += 1
                    first = min(first, job)
                free_nodes[node >> 6] &= ~(1 << (node & 63))
                free -= 1
            change += 1

        fresh = arrived
        while arrived < count and submit[arrived] == now:
            add(queue, arrived, size[arrived], limit[arrived])
            waiting += 1
            arrived += 1

        if now >= due:
            stale = True
        if stale:
            due = np.inf

        # While no node was released, the head's reservation holds and no earlier job behind the head can
        # start.
        at = fresh
        if stale or head < 0:
            head = -1
            at = first
        while free > 0:
            if head < 0:
                job = following(waits, at, arrived)
                if job < 0:
                    first = arrived
                    break
                first = job
                if size[job] > free:
                    head = job
                    stale = False
                    shadow, extra = reservation(ends, sizes, active, free, size[job])
                    at = job + 1
                    continue
            else:
                job = fitting(queue, at, arrived, size, limit, now, free, shadow, extra)
                if job < 0:
                    break
            at = job + 1
            count_free = node_bit_sets.members(free_nodes, pool)
            chance = select(compiled, pool, count_free, size[job], now, limit[job], now, chosen)
            loss = expected_loss(chance, size[job], limit[job], checkpoint[job])
            if loss > 0 and active > 0 and now < ends[0] <= submit[job] + limit[job]:
                for run in range(offsets[listed[0]], offsets[listed[0] + 1]):
                    for node in range(firsts[run], firsts[run] + lengths[run]):
                        pool[count_free] = node
                        count_free += 1
                pool[:count_free].sort()
                chance = select(compiled, pool, count_free, size[job], ends[0], limit[job], now, later)
                other = expected_loss(chance, size[job], limit[job], checkpoint[job])
                if worth_waiting(loss, other, ends[0] - now, size[job]):
                    due = min(due, ends[0])
                    stale = True
                    if head < 0:
                        head = job
                        shadow, extra = ends[0], count_free - size[job]
                    continue
            if head >= 0 and now + limit[job] > shadow:
                extra -= size[job]
            waits[job >> 6] &= ~(1 << (job & 63))
            waiting -= 1
            need = size[job]
            jobs[attempts] = job
            starts[attempts] = now
            used = node_bit_sets.pick(free_nodes, chosen, need, firsts, lengths, used)
            if changes > 0:
                for run in range(offsets[attempts], used):
                    own(owner, firsts[run], lengths[run], attempts)
            push(times, items, pending, now + left[job], attempts)
            pending += 1
            enter(ends, sizes, listed, active, now + limit[job], need, attempts)
            active += 1
            free -= need
            attempts += 1
            offsets[attempts] = used
    state[0], state[1], state[2], state[3], state[4] = arrived, active, pending, first, waiting
    state[5], state[6], state[7], state[8] = free, attempts, used, change
    return done
