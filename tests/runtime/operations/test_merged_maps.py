"""Several producers that moved to different roots, and the one task that needs all their files."""

from __future__ import annotations

from itertools import pairwise, permutations, product
from pathlib import Path

import pytest

from whesl.model.pathmap import PathMap
from whesl.runtime.operations.relocation.link_dependent_inputs import prepare_dependent

ROOTS = ("fast", "large", "tape")


def moved(*way: Path) -> PathMap:
    """What dependents are told of a task that has moved along a way, as FILESYSTEM.REPLACE says it."""
    result = PathMap()
    for here, new in pairwise(way):
        change = PathMap().with_rule(str(way[0]), str(new))
        if here not in (way[0], new):
            change = change.with_rule(str(here), str(new))
        result = result.merged(change)
    return result


WAYS = ((0,), (0, 1), (0, 2), (0, 1, 2), (0, 2, 1), (0, 1, 2, 1))


@pytest.mark.parametrize("ways", list(product(WAYS, repeat=2)))
def test_the_files_of_both_producers_are_found(tmp_path: Path, ways: tuple[tuple[int, ...], ...]) -> None:
    roots = [tmp_path / name for name in ROOTS]
    for order in permutations(range(len(ways))):
        present = PathMap()
        for number in order:
            present = present.merged(moved(*(roots[index] for index in ways[number])))
        for root in roots:
            root.mkdir(exist_ok=True)
        for number, way in enumerate(ways):
            place = roots[way[-1]] / f"task-{number}"
            place.mkdir(exist_ok=True)
            (place / "result").write_text(str(number))
        named = [str(roots[0] / f"task-{number}" / "result") for number in range(len(ways))]
        prepare_dependent(present, named, f"wf/task after {order}")
        assert [Path(present.path(name)).read_text() for name in named] == ["0", "1"], present
        for root in roots:
            root.rename(tmp_path / f"{root.name}-{order}")


def test_what_is_known_changes_nothing() -> None:
    first = PathMap().with_rule("/fast", "/large").merged(PathMap().with_rule("/fast", "/tape"))
    assert {rule.old: rule.new for rule in first.rules} == {"/fast": "/tape", "/large": "/tape"}
    for again in ("/large", "/tape"):
        assert first.merged(PathMap().with_rule("/fast", again)) == first
