"""Rectangular partitions of a three-dimensional torus.

The node at (x, y, z) has the index ``(x * Y + y) * Z + z``. A box is six integers, its base (x, y, z) and its
edges (a, b, c), and wraps around. A box that fills a dimension has base 0 there, so that each set of nodes is
one box.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from whesl.model.errors import WheslError
from whesl.prediction.numba_jit import jit

LARGEST = 16384  # largest number of nodes: the tables of all cross-sections take nodes x X x Y numbers


class Torus(NamedTuple):
    """The geometry of a torus.

    Attributes:
        dims: number of nodes along x, y and z.
        shapes: edges of all boxes, the largest box first, shape (boxes, 3).
        first: offsets by volume: boxes of volume v are ``shapes[first[v]:first[v - 1]]``, shape (nodes + 1,).
        fitting: least volume of a box that holds a number of nodes, by that number, shape (nodes + 1,).
    """

    dims: tuple[int, int, int]
    shapes: NDArray[np.int64]
    first: NDArray[np.int64]
    fitting: NDArray[np.int64]

    @property
    def nodes(self) -> int:
        """The number of nodes."""
        return self.dims[0] * self.dims[1] * self.dims[2]


def torus(x: int, y: int, z: int) -> Torus:
    """Return the geometry of a torus.

    Args:
        x: number of nodes along x.
        y: number of nodes along y.
        z: number of nodes along z.

    Raises:
        WheslError: an edge below 1, or too many nodes.
    """
    if min(x, y, z) < 1:
        raise WheslError(f"a torus of {x}x{y}x{z}: each edge has to be 1 or more")
    nodes = x * y * z
    if nodes > LARGEST:
        raise WheslError(
            f"a torus of {x}x{y}x{z} has {nodes} nodes; up to {LARGEST} are accepted",
            hint="larger supernodes make fewer",
        )
    shapes = [(a, b, c) for a in range(1, x + 1) for b in range(1, y + 1) for c in range(1, z + 1)]
    shapes.sort(key=lambda shape: (-shape[0] * shape[1] * shape[2], shape))
    edges = np.array(shapes, dtype=np.int64)
    volumes = edges.prod(axis=1)
    first = np.searchsorted(-volumes, -np.arange(nodes + 1), side="left").astype(np.int64)
    first[0] = len(edges)
    have = np.unique(volumes)
    fitting = have[np.searchsorted(have, np.arange(nodes + 1))].astype(np.int64)
    return Torus((x, y, z), edges, first, fitting)


@jit
def bases(dims: tuple[int, int, int], edges: NDArray[np.int64]) -> tuple[int, int, int]:
    """Return the number of different bases of a box with given edges along each dimension.

    Args:
        dims: number of nodes along each dimension.
        edges: edges of the box, shape (3,).
    """
    a, b, c = edges
    x, y, z = dims
    return (1 if a == x else x), (1 if b == y else y), (1 if c == z else z)


@jit
def fill(dims: tuple[int, int, int], box: NDArray[np.int64], nodes: NDArray[np.bool_], value: bool) -> None:
    """Set the flags of all nodes of a box.

    Args:
        dims: number of nodes along each dimension.
        box: base and edges of the box, shape (6,).
        nodes: flags of all nodes, which are changed, shape (nodes,).
        value: the flag to set.
    """
    x, y, z = dims
    for i in range(box[0], box[0] + box[3]):
        for j in range(box[1], box[1] + box[4]):
            row = ((i % x) * y + j % y) * z
            for k in range(box[2], box[2] + box[5]):
                nodes[row + k % z] = value


@jit
def holds(dims: tuple[int, int, int], box: NDArray[np.int64], node: int) -> bool:
    """Return whether a box of a torus holds a node.

    Args:
        dims: number of nodes along each dimension.
        box: base and edges of the box, shape (6,).
        node: the node's index.
    """
    x, y, z = dims
    k = node % z
    j = (node // z) % y
    i = node // (z * y)
    return bool((i - box[0]) % x < box[3] and (j - box[1]) % y < box[4] and (k - box[2]) % z < box[5])


@jit
def apart(length: int, one: int, edge: int, other: int, extent: int) -> bool:
    """Return whether two intervals on a ring are disjoint.

    Args:
        length: number of places on the ring.
        one: begin of the first interval.
        edge: length of the first interval.
        other: begin of the second interval.
        extent: length of the second interval.
    """
    ahead = other - one
    if ahead < 0:
        ahead += length
    back = length - ahead if ahead else 0
    return ahead >= edge and back >= extent


def members(geometry: Torus, box: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the indices of the nodes of a box, ascending.

    Args:
        geometry: the torus of the box.
        box: base and edges of the box, shape (6,).
    """
    flags = np.zeros(geometry.nodes, dtype=np.bool_)
    fill(geometry.dims, box, flags, True)
    return np.flatnonzero(flags)
