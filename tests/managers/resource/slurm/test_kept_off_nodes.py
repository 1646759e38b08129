"""A job that runs again is kept off bad nodes only where enough nodes of the same kind are left."""

from __future__ import annotations

import pytest

from whesl.managers.resource.slurm.kept_off_nodes import excluded, partition
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
    assert excluded(printed(("main", *job)), nodes, ("n1", "n2"), bad) == left


def test_a_job_that_is_gone_has_no_partition_and_is_kept_off_nothing() -> None:
    assert (partition(""), excluded("", "", (), ("n1",))) == ("", "")
