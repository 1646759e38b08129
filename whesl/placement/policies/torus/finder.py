"""The free partitions of a size, and the largest free partition, on a torus.

``partitions`` is the partition finder. A summed-area table of the unrolled torus, the number of busy nodes in
each box at the origin, tests one box in constant time. So all free boxes of size s take O(M^3 f(s)^2) time on
an M x M x M torus, where f(s) is the number of divisors of s; the source has O(M^3 f(s)^3). ``projection``
serves all
sizes at once: it tells how far a free box of each cross-section reaches.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from whesl.placement.policies.torus.boxes import Torus, bases
from whesl.prediction.numba_jit import jit


@jit
def summed(dims: tuple[int, int, int], marked: NDArray[np.bool_]) -> NDArray[np.int32]:
    """Return the number of marked nodes in [0, i) x [0, j) x [0, k) of the torus unrolled twice.

    Args:
        dims: number of nodes along each dimension.
        marked: whether each node is marked.
    """
    x, y, z = dims
    table = np.zeros((2 * x + 1, 2 * y + 1, 2 * z + 1), dtype=np.int32)
    for i in range(2 * x):
        for j in range(2 * y):
            row = ((i % x) * y + j % y) * z
            run = 0
            for k in range(2 * z):
                run += marked[row + k % z]
                table[i + 1, j + 1, k + 1] = (
                    run + table[i, j + 1, k + 1] + table[i + 1, j, k + 1] - table[i, j, k + 1]
                )
    return table


@jit
def count(table: NDArray[np.int32], i: int, j: int, k: int, a: int, b: int, c: int) -> int:
    """Return the number of marked nodes in a box.

    Args:
        table: the result of ``summed``.
        i, j, k: base of the box.
        a, b, c: edges of the box.
    """
    return int(
        table[i + a, j + b, k + c]
        - table[i, j + b, k + c]
        - table[i + a, j, k + c]
        - table[i + a, j + b, k]
        + table[i, j, k + c]
        + table[i, j + b, k]
        + table[i + a, j, k]
        - table[i, j, k]
    )


@jit
def partitions(geometry: Torus, busy: NDArray[np.bool_], size: int) -> NDArray[np.int64]:
    """Return all free boxes of a size in the order of edges and base, shape (boxes, 6).

    Args:
        geometry: the torus.
        busy: whether each node cannot be used.
        size: number of nodes, from 1 to that of the torus; a size that is no box's volume gives no boxes.
    """
    dims = geometry.dims
    table = summed(dims, busy)
    low, high = geometry.first[size], geometry.first[size - 1]
    most = 0
    for s in range(low, high):
        u, v, w = bases(dims, geometry.shapes[s])
        most += u * v * w
    found = np.empty((most, 6), dtype=np.int64)
    number = 0
    for s in range(low, high):
        a, b, c = geometry.shapes[s]
        u, v, w = bases(dims, geometry.shapes[s])
        for i in range(u):
            for j in range(v):
                for k in range(w):
                    if count(table, i, j, k, a, b, c) == 0:
                        box = found[number]
                        box[0], box[1], box[2] = i, j, k
                        box[3], box[4], box[5] = a, b, c
                        number += 1
    return found[:number]


@jit
def projection(
    dims: tuple[int, int, int], busy: NDArray[np.bool_]
) -> tuple[NDArray[np.int16], NDArray[np.int16]]:
    """Return how far free boxes reach along z.

    Args:
        dims: number of nodes along each dimension.
        busy: whether each node cannot be used.

    Returns:
        The longest edge along z of a free box, by edges a, b (counted from 0) and base x, y, z; and the
        longest of these edges by a, b.
    """
    x, y, z = dims
    reach = np.zeros((x, y, x, y, z), dtype=np.int16)
    most = np.zeros((x, y), dtype=np.int16)
    for i in range(x):
        for j in range(y):
            row = (i * y + j) * z
            run = 0
            for k in range(2 * z - 1, -1, -1):
                run = 0 if busy[row + k % z] else min(run + 1, z)
                if k < z:
                    reach[0, 0, i, j, k] = run
    for b in range(1, y):
        for i in range(x):
            for j in range(y):
                other = (j + b) % y
                for k in range(z):
                    reach[0, b, i, j, k] = min(reach[0, b - 1, i, j, k], reach[0, 0, i, other, k])
    for a in range(1, x):
        for b in range(y):
            for i in range(x):
                other = (i + a) % x
                for j in range(y):
                    for k in range(z):
                        reach[a, b, i, j, k] = min(reach[a - 1, b, i, j, k], reach[0, b, other, j, k])
    for a in range(x):
        for b in range(y):
            most[a, b] = reach[a, b].max()
    return reach, most


@jit
def largest(most: NDArray[np.int16]) -> int:
    """Return the size of the maximal free partition (MFP), from the second result of ``projection``."""
    best = 0
    for a in range(most.shape[0]):
        for b in range(most.shape[1]):
            best = max(best, (a + 1) * (b + 1) * int(most[a, b]))
    return best


@jit
def sizes(geometry: Torus, most: NDArray[np.int16]) -> NDArray[np.bool_]:
    """Return for each size whether a free box of that size exists.

    Args:
        geometry: the torus.
        most: the second result of ``projection``.
    """
    able = np.zeros(len(geometry.fitting), dtype=np.bool_)
    for s in range(len(geometry.shapes)):
        a, b, c = geometry.shapes[s]
        if most[a - 1, b - 1] >= c:
            able[a * b * c] = True
    return able


@jit
def fits(geometry: Torus, most: NDArray[np.int16], size: int) -> bool:
    """Return whether a free box of a size exists.

    Args:
        geometry: the torus.
        most: the second result of ``projection``.
        size: number of nodes of the box.
    """
    for s in range(geometry.first[size], geometry.first[size - 1]):
        a, b, c = geometry.shapes[s]
        if most[a - 1, b - 1] >= c:
            return True
    return False
