"""A job that runs again asks for nodes of its kind that are there, and is kept off bad ones if it can be."""

from __future__ import annotations

import pytest

from whesl.managers.resource.slurm.next_run import asks, partition, size_changes
from whesl.managers.resource.slurm.slurm_command_output import SEPARATOR

GPU, PLAIN = ("64", "512000", "gpu:4", "a100"), ("64", "512000", "(null)", "(null)")
NODES = {
    "n1": ("allocated", *GPU),
    "n2": ("allocated", *GPU),
    "n3": ("idle", *GPU),
    "n4": ("down+not_responding", *GPU),
    "n5": ("mixed", *PLAIN),
}


def printed(*rows: tuple[str, ...]) -> str:
    return "".join("".join(field + SEPARATOR for field in row) + "\n" for row in rows)


@pytest.mark.parametrize(
    ("job", "bad", "left"),
    [
        (("2", "", "", ""), ("n1",), "n1"),
        (("2", "", "", "n5"), ("n1",), "n1,n5"),
        (("3", "", "", ""), ("n1",), ""),  # two nodes with such devices are left
        (("2", "", "", ""), ("n1", "n2"), ""),
        (("2", "", "", "n3"), ("n1",), ""),
        (("2", "n1", "", ""), ("n1",), ""),
        (("2", "", "maintenance", ""), ("n1",), ""),
        (("2", "", "", ""), ("elsewhere",), ""),
    ],
)
def test_what_a_new_run_is_kept_off(job: tuple[str, ...], bad: tuple[str, ...], left: str) -> None:
    nodes = printed(*((name, *kind) for name, kind in NODES.items()))
    assert asks(printed(("main", *job)), nodes, ("n1", "n2"), bad, (0, 0)) == (left, 0)


@pytest.mark.parametrize(
    ("job", "bad", "sizes", "asked"),
    [
        (("4", "", "", ""), (), (3, 4), ("", 3)),  # n4 is down: the job waited for it for ever
        (("3", "", "", ""), (), (3, 4), ("", 3)),
        (("2", "", "", ""), (), (2, 5), ("", 3)),  # the last run had fewer spares than there are now
        (("4", "", "", ""), ("n1",), (2, 4), ("n1", 2)),
        (("4", "", "", ""), ("n1",), (3, 4), ("", 3)),
        (("6", "", "", ""), (), (5, 6), ("", 5)),
        (("4", "", "", "n3"), (), (2, 4), ("", 2)),
        (("4", "n1", "", ""), (), (3, 4), ("", 0)),
    ],
)
def test_a_new_run_asks_for_no_spare_that_is_not_there(
    job: tuple[str, ...], bad: tuple[str, ...], sizes: tuple[int, int], asked: tuple[str, int]
) -> None:
    nodes = printed(*((name, *kind) for name, kind in NODES.items()))
    assert asks(printed(("main", *job)), nodes, ("n1", "n2"), bad, sizes) == asked


def test_processors_and_tasks_go_with_the_nodes() -> None:
    """Slurm lowers the number of tasks of a job that has not said one, and only that."""
    said, now = printed(("3", "12", "6")), printed(("2", "12", "6"))
    assert size_changes(said, now, 2) == ["NumCPUs=8", "NumTasks=4"]
    assert size_changes(printed(("3", "3", "3")), printed(("3", "3", "2")), 2) == ["NumCPUs=2"]
    assert size_changes(said, "", 2) == []


def test_a_job_that_is_gone_has_no_partition_and_is_kept_off_nothing() -> None:
    assert (partition(""), asks("", "", (), ("n1",), (0, 0))) == ("", ("", 0))


def test_each_node_of_the_partition_counts_where_those_of_the_last_run_are_unknown() -> None:
    nodes = printed(*((name, *kind) for name, kind in NODES.items()))
    assert asks(printed(("main", "6", "", "", "")), nodes, (), (), (2, 6)) == ("", 4)
