"""The waiting jobs as a bit set in order of arrival, with bounds that speed up the search for a fitting job.

Each word of 64 jobs, and each group of 64 words, has lower bounds of the sizes and estimates of its waiting
jobs. A search skips a word or group if no job within its bounds could start, and makes the bounds of searched
words exact.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from whesl.lab.simulators.cluster.node_bit_sets import lowest
from whesl.placement.policies.easy import may_overtake
from whesl.prediction.numba_jit import jit, jit_inner

if TYPE_CHECKING:
    from numpy.typing import NDArray

NONE = 1 << 40


class Waiting(NamedTuple):
    """The set of waiting jobs and its bounds, which may be too low but never too high.

    Attributes:
        bits: bit set of the waiting jobs.
        size: least size of a job in each word of ``bits``, in nodes.
        time: least estimate of a job in each word, in seconds.
        group_size: least size of a job in each group of 64 words, in nodes.
        group_time: least estimate of a job in each group of 64 words, in seconds.
    """

    bits: NDArray[np.int64]
    size: NDArray[np.int64]
    time: NDArray[np.float64]
    group_size: NDArray[np.int64]
    group_time: NDArray[np.float64]


def none_of(count: int) -> Waiting:
    """Return an empty set with room for ``count`` jobs."""
    words = (count >> 6) + 1
    groups = (words >> 6) + 1
    return Waiting(
        np.zeros(words, dtype=np.int64),
        np.full(words, NONE, dtype=np.int64),
        np.full(words, np.inf),
        np.full(groups, NONE, dtype=np.int64),
        np.full(groups, np.inf),
    )


@jit_inner
def add(queue: Waiting, job: int, size: int, estimate: float) -> None:
    """Add a job.

    Args:
        queue: the set, changed in place.
        job: index of the job.
        size: the job's number of nodes.
        estimate: the job's estimate, in seconds.
    """
    word = job >> 6
    group = word >> 6
    if queue.bits[word] == 0:
        queue.size[word] = size
        queue.time[word] = estimate
    else:
        queue.size[word] = min(queue.size[word], size)
        queue.time[word] = min(queue.time[word], estimate)
    queue.bits[word] |= 1 << (job & 63)
    queue.group_size[group] = min(queue.group_size[group], size)
    queue.group_time[group] = min(queue.group_time[group], estimate)


@jit
def following(bits: NDArray[np.int64], job: int, count: int) -> int:
    """Return the first waiting job from ``job`` on and below ``count``, or -1.

    Args:
        bits: bit set of the waiting jobs.
        job: index of the first job to consider.
        count: number of jobs that have arrived.
    """
    if job >= count:
        return -1
    place = job >> 6
    word = bits[place] & (-1 << (job & 63))
    end = (count + 63) >> 6
    while word == 0:
        place += 1
        if place >= end:
            return -1
        word = bits[place]
    found = (place << 6) + lowest(word)
    return found if found < count else -1


@jit_inner
def fitting(
    queue: Waiting,
    job: int,
    count: int,
    size: NDArray[np.int64],
    estimate: NDArray[np.float64],
    now: float,
    free: int,
    shadow: float,
    extra: int,
) -> int:
    """Return the first waiting job from ``job`` on and below ``count`` that may overtake the head, or -1.

    Args:
        queue: the set of waiting jobs; its bounds are updated.
        job: index of the first job to consider.
        count: number of jobs that have arrived.
        size: number of nodes of each job.
        estimate: estimate of each job, in seconds.
        now: present time, in seconds.
        free: number of free nodes.
        shadow: the head's shadow time, in seconds.
        extra: number of nodes that the head leaves free at its shadow time.
    """
    if job >= count:
        return -1
    place = job >> 6
    end = (count + 63) >> 6
    word = queue.bits[place] & (-1 << (job & 63))
    whole = (job & 63) == 0
    while True:
        if word != 0:
            least = NONE
            shortest = np.inf
            while word != 0:
                at = (place << 6) + lowest(word)
                if may_overtake(size[at], estimate[at], now, free, shadow, extra):
                    return at
                least = min(least, size[at])
                shortest = min(shortest, estimate[at])
                word &= word - 1
            if whole:
                queue.size[place] = least
                queue.time[place] = shortest
        place += 1
        if place & 63 == 0:
            _tighten(queue, (place >> 6) - 1)
            while place < end and not may_overtake(
                queue.group_size[place >> 6], queue.group_time[place >> 6], now, free, shadow, extra
            ):
                place += 64
        if place >= end:
            return -1
        word = queue.bits[place]
        whole = True
        if word != 0 and not may_overtake(queue.size[place], queue.time[place], now, free, shadow, extra):
            word = 0


@jit_inner
def _tighten(queue: Waiting, group: int) -> None:
    least = NONE
    shortest = np.inf
    for place in range(group << 6, (group + 1) << 6):
        if queue.bits[place] != 0:
            least = min(least, queue.size[place])
            shortest = min(shortest, queue.time[place])
    queue.group_size[group] = least
    queue.group_time[group] = shortest
