"""Which part of an allocation a task takes when it begins, and who is in the account."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from whesl.runtime.isolator.nodes import allocation_share, node_claims
from whesl.runtime.locking import takeover_lock

SETUP = {
    "nodes": ["n1", "n2", "n3"],
    "active": 1,
    "job_id": "7",
    "rjms": "slurm",
    "restarts": 0,
    "components": (),
    "own_node": "n1",
    "use_own_node": True,
}


def settled(home: Path, name: str, **changes: Any) -> dict[str, Any]:
    task = home / name
    task.mkdir()
    takeover_lock.take(str(task / "lock"), takeover_lock.owned())
    return allocation_share.settle({**SETUP, **changes}, str(home), str(task))


def test_tasks_of_a_part_have_one_account(tmp_path: Path) -> None:
    account = node_claims.account(str(tmp_path), "slurm", "7", 0)
    assert settled(tmp_path, "a") == {"account": account, "taken": []}
    assert settled(tmp_path, "b", active=2) == {"account": account, "taken": ["n1"]}
    assert node_claims.newest(account)[1] == {str(tmp_path / "a"): ["n1"], str(tmp_path / "b"): ["n2", "n3"]}
    # Whatever the others use, a task that is given no free node runs, and shares.
    assert settled(tmp_path, "c") == {"account": account, "taken": ["n1", "n2", "n3"]}


@pytest.mark.parametrize("active", [3, None, 9], ids=["all nodes", "not said", "more than there are"])
def test_who_uses_all_of_an_allocation_is_a_neighbour_that_claims_no_node(
    tmp_path: Path, active: int | None
) -> None:
    account = node_claims.account(str(tmp_path), "slurm", "7", 0)
    assert settled(tmp_path, "a", active=active) == {"account": account, "taken": []}
    assert node_claims.neighbours(account, str(tmp_path / "a")) == (False, False)
    # What runs beside it takes its part as if it were alone: it shares in any case.
    assert settled(tmp_path, "b")["taken"] == []
    assert node_claims.neighbours(account, str(tmp_path / "a")) == (True, True)
    assert settled(tmp_path, "c", active=active)["taken"] == []


@pytest.mark.parametrize(
    "changes",
    [{"components": (("n1",), ("n2",))}, {"job_id": ""}, {"nodes": ["n1"]}],
    ids=["components", "no job", "a node"],
)
def test_an_allocation_without_nodes_to_share_has_no_account(tmp_path: Path, changes: dict[str, Any]) -> None:
    assert settled(tmp_path, "a", **changes) == {}
    assert not (tmp_path / "allocations").exists()


def test_without_a_place_for_the_account_a_task_runs_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "allocations").touch()
    assert settled(tmp_path, "a") == {}
