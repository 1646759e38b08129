"""Partitions of a torus against brute force over sets of nodes."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.alike import examples
from whesl.model.errors import WheslError
from whesl.placement.policies.torus.boxes import Torus, holds, members, torus
from whesl.placement.policies.torus.choice import BALANCING, BALANCING_MAX, MFP, TIE_BREAKING, choose, costs
from whesl.placement.policies.torus.finder import fits, largest, partitions, projection

# Compiled for the first time, the loops take half a minute of a processor.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

FLAT = torus(1, 3, 6)
SHAPES = [(1, 1, 1), (2, 2, 2), (3, 2, 4), (4, 1, 3), (1, 1, 5), (3, 3, 3)]


def every_box(dims: tuple[int, int, int], size: int) -> set[frozenset[int]]:
    x, y, z = dims
    found = set()
    for a, b, c in product(range(1, x + 1), range(1, y + 1), range(1, z + 1)):
        if a * b * c != size:
            continue
        for i, j, k in product(range(x), range(y), range(z)):
            found.add(
                frozenset(
                    ((i + u) % x * y + (j + v) % y) * z + (k + w) % z
                    for u, v, w in product(range(a), range(b), range(c))
                )
            )
    return found


def nodes(geometry: Torus, box: NDArray[np.int64]) -> frozenset[int]:
    return frozenset(members(geometry, box).tolist())


@given(st.sampled_from(SHAPES), st.randoms(use_true_random=False), st.floats(0, 1))
@settings(max_examples=examples(40), deadline=None)
def test_all_free_partitions_and_the_largest_are_those_of_brute_force(dims, random, share) -> None:  # type: ignore[no-untyped-def]  # hypothesis gives them
    geometry = torus(*dims)
    busy = np.array([random.random() < share for _ in range(geometry.nodes)])
    taken = set(np.flatnonzero(busy).tolist())
    most = projection(geometry.dims, busy)[1]
    biggest = 0
    for size in range(1, geometry.nodes + 1):
        expected = {box for box in every_box(dims, size) if not box & taken}
        found = partitions(geometry, busy, size)
        assert {nodes(geometry, box) for box in found} == expected
        assert len(found) == len(expected)
        assert fits(geometry, most, size) == bool(expected)
        biggest = size if expected else biggest
        for box in found[:3]:
            held = {n for n in range(geometry.nodes) if holds(geometry.dims, box, n)}
            assert held == nodes(geometry, box)
    assert largest(most) == biggest


@given(st.sampled_from(SHAPES), st.randoms(use_true_random=False), st.floats(0, 0.8), st.integers(0, 3))
@settings(max_examples=examples(40), deadline=None)
def test_costs_are_those_of_the_definition(dims, random, share, rule) -> None:  # type: ignore[no-untyped-def]  # hypothesis gives them
    """E_loss from its definition: the MFP before and after by brute force, and P_f from the nodes."""
    geometry = torus(*dims)
    busy = np.array([random.random() < share for _ in range(geometry.nodes)])
    chance = np.array([random.choice([0.0, 0.0, 0.3, 1.0]) for _ in range(geometry.nodes)])
    size = random.randint(1, geometry.nodes)
    candidates = partitions(geometry, busy, size)
    taken = set(np.flatnonzero(busy).tolist())

    def mfp(more: frozenset[int]) -> int:
        return max(
            (
                s
                for s in range(1, geometry.nodes + 1)
                if any(not box & (taken | more) for box in every_box(dims, s))
            ),
            default=0,
        )

    expected = []
    for box in candidates:
        inside = nodes(geometry, box)
        risk = [chance[node] for node in inside]
        failing = max(risk) if rule == BALANCING_MAX else 1 - float(np.prod([1 - p for p in risk]))
        extra = {MFP: 0.0, TIE_BREAKING: 0.5 * (max(risk) >= 0.5)}.get(rule, failing * size)
        expected.append(mfp(frozenset()) - mfp(inside) + extra)
    if not expected:
        return
    found = costs(geometry, busy, candidates, chance, rule, True)
    assert found == pytest.approx(expected)
    box = choose(geometry, busy, busy, size, chance, rule)[0]
    at = int(np.flatnonzero((candidates == box).all(axis=1))[0])
    assert expected[at] == pytest.approx(min(expected))


def figure_2() -> tuple[NDArray[np.bool_], NDArray[np.int64], NDArray[np.int64]]:
    """Busy nodes of a flat torus, 3 by 6, on which one placement of four nodes costs MFP 3 and another 5.

    The document's picture is not in its text; this layout has its numbers.
    """
    for pattern in range(1 << 18):
        busy = np.array([pattern >> node & 1 for node in range(18)], dtype=np.bool_)
        found = partitions(FLAT, busy, 4)
        if len(found) < 2:
            continue
        loss = costs(FLAT, busy, found, np.zeros(18), MFP, True)
        for a in found[loss == 3.0]:
            for b in found[loss == 5.0]:
                if nodes(FLAT, a) - nodes(FLAT, b):
                    return busy, a, b
    raise AssertionError("no layout has those losses")


@pytest.mark.parametrize("confidence", [0.0, 0.3, 0.49, 0.51, 1.0])
def test_figure_2_the_unstable_partition_wins_below_one_half(confidence: float) -> None:
    """Size 4: (a) L_MFP 3 and L_PF 4 P_f, (b) L_MFP 5 and L_PF 0."""
    busy, a, b = figure_2()
    chance = np.zeros(18)
    chance[min(nodes(FLAT, a) - nodes(FLAT, b))] = confidence
    found = costs(FLAT, busy, np.stack([a, b]), chance, BALANCING, True)
    assert found == pytest.approx([3 + 4 * confidence, 5])
    assert bool(found[0] < found[1]) is (confidence < 0.5)


def test_sizes_without_a_box_take_the_next_one() -> None:
    geometry = torus(4, 4, 8)
    assert geometry.nodes == 128
    assert [int(geometry.fitting[size]) for size in (1, 11, 13, 17, 100, 113, 128)] == [
        1,
        12,
        14,
        18,
        112,
        128,
        128,
    ]


@pytest.mark.parametrize("dims", [(0, 4, 8), (-1, 1, 1), (64, 64, 64)])
def test_a_torus_that_cannot_be_is_refused(dims: tuple[int, int, int]) -> None:
    with pytest.raises(WheslError, match="torus"):
        torus(*dims)


@pytest.mark.parametrize("edge", [2, 4, pytest.param(8, marks=pytest.mark.variant)])
def test_the_finder_tests_no_more_boxes_than_the_printed_bound(edge: int) -> None:
    """O(M^3 f(s)^3) is printed; an empty torus of M x M x M has at most M^3 f(s)^2 boxes of size s."""
    geometry = torus(edge, edge, edge)
    busy = np.zeros(geometry.nodes, dtype=np.bool_)
    for size in range(1, geometry.nodes + 1):
        divisors = sum(size % d == 0 for d in range(1, size + 1))
        assert len(partitions(geometry, busy, size)) <= edge**3 * divisors**2
