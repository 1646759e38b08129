"""The policies of one cluster in C (``cluster_event_loop.c``) as functions of NumPy arrays."""

from __future__ import annotations

import ctypes
import struct
from typing import TYPE_CHECKING, Any

import numpy as np

from whesl.lab.native.library import library, pointer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from whesl.prediction.failures.compiled_predictor import Compiled

POLICIES = ("fcfs", "easy", "conservative", "reliable")  # in the order of the policies' numbers in machine.h


class _Runs(ctypes.Structure):
    _fields_ = (
        ("count", ctypes.c_int64),
        ("room", ctypes.c_int64),
        ("first", ctypes.POINTER(ctypes.c_int32)),
        ("length", ctypes.POINTER(ctypes.c_int32)),
    )


def simulate(
    policy: str,
    nodes: int,
    jobs: Sequence[NDArray[Any]],
    faults: Sequence[NDArray[Any]],
    predictor: Compiled | None = None,
) -> tuple[list[NDArray[Any]], NDArray[np.float64]] | None:
    """Simulate jobs to the end; return None where the C functions cannot be compiled.

    Args:
        policy: one of ``POLICIES``.
        nodes: number of nodes of the machine.
        jobs: arrays of submissions in seconds, ascending; sizes in nodes, at most ``nodes``; run times,
            estimates and intervals between checkpoints in seconds; each of shape (jobs,).
        faults: arrays of times in seconds, ascending; indices of nodes; whether the node comes back (else it
            fails); each of shape (changes,).
        predictor: the predictor that ``reliable`` asks, of at least ``nodes`` nodes.

    Returns:
        All attempts, as the fields of ``whesl.lab.simulators.cluster.simulation_records.Attempts``, and each
        job's first reservation in seconds (empty but for conservative backfilling).

    Raises:
        MemoryError: there is too little memory.
    """
    found = library()
    if found is None:
        return None
    given = zip(jobs, (np.float64, np.int64, np.float64, np.float64, np.float64), strict=True)
    submit, size, left, limit, checkpoint = (np.array(values, kind) for values, kind in given)
    time, node, up = (
        np.ascontiguousarray(values, kind)
        for values, kind in zip(faults, (np.float64, np.int64, np.uint8), strict=True)
    )
    count, changes = len(submit), len(time)
    room = count + changes + 1
    promise = np.empty(count if policy == "conservative" else 0)
    job, offsets = np.empty(room, np.int64), np.empty(room + 1, np.int64)
    start, end, killed = np.empty(room), np.empty(room), np.empty(room, np.bool_)
    asked, _arrays = (None, []) if predictor is None else _structure(predictor)
    runs = _Runs()
    call = found.simulate
    call.restype = ctypes.c_int64
    attempts = call(
        POLICIES.index(policy),
        ctypes.c_int64(nodes),
        ctypes.c_int64(count),
        *map(pointer, (submit, size, left, limit, checkpoint, promise)),
        ctypes.c_int64(changes),
        *map(pointer, (time, node, up)),
        asked,
        *map(pointer, (job, start, end, killed, offsets)),
        ctypes.byref(runs),
    )
    # The pointers are null when there are no runs, and NumPy makes no array of a null pointer.
    first, length = (
        np.ctypeslib.as_array(values, (runs.count,)).copy() if runs.count else np.empty(0, np.int32)
        for values in (runs.first, runs.length)
    )
    found.forget(ctypes.byref(runs))
    if attempts < 0:
        raise MemoryError(f"no memory for {count} jobs on {nodes} nodes")
    each = [values[:attempts] for values in (job, start, end, killed)]
    return [*each, offsets[: attempts + 1], first, length], promise


def _structure(predictor: Compiled) -> tuple[bytes, list[NDArray[Any]]]:
    """Return a predictor as the structure of ``predictor.h``, and the arrays that the structure points to."""
    arrays = [
        np.asarray(values, np.int64 if name.endswith("offsets") or name == "curve" else np.float64, order="C")
        for name, values in predictor._asdict().items()
    ]
    fields = [
        struct.pack("P", values.ctypes.data) if values.ndim else struct.pack("d", values) for values in arrays
    ]
    return b"".join((*fields, struct.pack("q", len(predictor.ages)))), arrays


def apart(
    nodes: int,
    start: NDArray[np.float64],
    end: NDArray[np.float64],
    offsets: NDArray[np.int64],
    first: NDArray[np.int32],
    length: NDArray[np.int32],
) -> bool:
    """Return True if no node holds two attempts at a time; False also where there is no C compiler.

    Args:
        nodes: number of nodes of the machine; every run lies within them.
        start, end, offsets, first, length: arrays of attempts in order of start, as ``simulate`` returns
            them.
    """
    found = library()
    arrays: tuple[NDArray[Any], ...] = (start, end, offsets, first, length, np.full(nodes, -np.inf))
    return found is not None and bool(found.apart(ctypes.c_int64(len(start)), *map(pointer, arrays)))
