"""Which tasks are coupled: by running beside each other, and by lists of globs, paired by instance."""

from __future__ import annotations

import pytest

from whesl.model.workflow import Task, Workflow


def workflow(*names: str, **more: Task) -> Workflow:
    tasks = []
    for name in names:
        step, _, instance = name.partition("_")
        tasks.append(Task(id=f"w/{name}", step=step, instance=instance))
    return Workflow(id="w", name="w", wms="maestro", root="/w", tasks=(*tasks, *more.values()))


def pairs(made: Workflow) -> set[str]:
    found = {f"{task.name}-{other.removeprefix('w/')}" for task in made.tasks for other in task.coupled}
    assert {"-".join(reversed(pair.split("-"))) for pair in found} == found, "both ways"
    return {pair for pair in found if pair < "-".join(reversed(pair.split("-")))}


@pytest.mark.parametrize(
    ("names", "group", "expected"),
    [
        (("a", "b", "c"), ("a", "b"), {"a-b"}),
        (("a", "b", "c"), ("a", "b", "c"), {"a-b", "a-c", "b-c"}),
        (("a", "b", "c"), ("*",), {"a-b", "a-c", "b-c"}),
        (("a_1", "a_2", "b_1", "b_2"), ("a", "b"), {"a_1-b_1", "a_2-b_2"}),
        (("a_1", "a_2", "b"), ("a", "b"), {"a_1-b", "a_2-b"}),
        (
            ("a_N.1.M.1", "a_N.1.M.2", "a_N.2.M.1", "b_N.1", "b_N.2"),
            ("a", "b"),
            {"a_N.1.M.1-b_N.1", "a_N.1.M.2-b_N.1", "a_N.2.M.1-b_N.2"},
        ),
        (("a_N.1", "b_N.10"), ("a", "b"), {"a_N.1-b_N.10"}),
        (("a_N.1", "a_N.10", "b_N.1", "b_N.10"), ("a", "b"), {"a_N.1-b_N.1", "a_N.10-b_N.10"}),
        (("a_1", "a_2", "a_3"), ("a_1", "a_2"), {"a_1-a_2"}),
        (("a_1", "a_2"), ("a",), set()),
        (("a", "b"), ("c", "d"), set()),
    ],
)
def test_who_is_coupled(names: tuple[str, ...], group: tuple[str, ...], expected: set[str]) -> None:
    assert pairs(workflow(*names).with_coupled((group,))) == expected


def test_what_runs_beside_another_is_coupled_with_it() -> None:
    beside = Task(id="w/b", step="b", parents=("w/a",), beside=("w/a",))
    made = workflow("a", b=beside).with_coupled(())
    assert pairs(made) == {"a-b"}
    assert made.with_coupled(()) == made
    assert (made.dependents("w/a"), made.dependents("w/b")) == (("w/b",), ("w/a",))
