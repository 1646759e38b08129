"""One allocation's account of its nodes: different nodes for different tasks, whoever is killed when."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whesl.runtime.isolator.core.node_division import divided
from whesl.runtime.isolator.nodes import node_claims
from whesl.runtime.locking import takeover_lock

NODES = ("n1", "n2", "n3", "n4", "n5")


class Allocation:
    """An account, and tasks that claim in it."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.directory = node_claims.account(str(place), "slurm", "7", 0)
        self.locks: dict[str, int] = {}

    def begin(self, name: str) -> str:
        task = self.place / name
        task.mkdir(exist_ok=True)
        self.locks[name] = takeover_lock.take(str(task / "lock"), takeover_lock.owned())
        return str(task)

    def claim(self, name: str, wanted: int) -> tuple[tuple[str, ...], frozenset[str]]:
        task = self.begin(name) if name not in self.locks else str(self.place / name)
        return node_claims.claim(
            self.directory, task, lambda used, _: divided(NODES, wanted, frozenset(), used)[0]
        )

    def end(self, name: str) -> None:
        (self.place / name / "result.json").write_text("{}")
        takeover_lock.release(self.locks.pop(name))

    def kill(self, name: str) -> None:
        os.close(self.locks[name])
        # Nobody of that number lives.
        lock = self.place / name / "lock"
        lock.write_text(lock.read_text().replace(f'"pid": {os.getpid()}', '"pid": 4194305'))


def test_tasks_take_different_nodes_while_there_are_enough(tmp_path: Path) -> None:
    """With --nodes 1 all tasks of an allocation took its first node, one after the other."""
    made = Allocation(tmp_path)
    assert [made.claim(name, 2)[0] for name in "ab"] == [("n1", "n2"), ("n3", "n4")]
    chosen, used = made.claim("c", 2)
    assert chosen == ("n1", "n5")
    assert used == {"n1", "n2", "n3", "n4"}, "who shares a node can be told so"
    made.end("a")
    assert made.claim("d", 1) == (("n2",), frozenset({"n1", "n3", "n4", "n5"}))


def test_what_a_killed_task_has_claimed_is_free(tmp_path: Path) -> None:
    made = Allocation(tmp_path)
    made.claim("a", 3)
    made.kill("a")
    assert made.claim("b", 5) == (NODES, frozenset())


def exchanged(
    made: Allocation, task: str, wanted: list[str], shared: Collection[str] = ()
) -> tuple[set[str], set[str]]:
    refused, used = node_claims.exchange(made.directory, task, wanted, frozenset(shared))
    return set(refused), set(used)


def test_a_spare_is_taken_by_one(tmp_path: Path) -> None:
    made = Allocation(tmp_path)
    for name in "ab":
        made.claim(name, 1)
    a, b = (str(tmp_path / name) for name in "ab")
    nobody = set[str]()
    assert exchanged(made, a, ["n1"]) == (nobody, {"n2"})
    assert exchanged(made, a, ["n3"]) == (nobody, {"n2"})
    assert exchanged(made, b, ["n3"]) == ({"n3"}, {"n3"})
    assert node_claims.newest(made.directory)[1] == {a: ["n3"], b: ["n2"]}
    assert exchanged(made, b, ["n1"]) == (nobody, {"n3"}), "it was given back"
    assert exchanged(made, b, ["n3", "n4"], {"n3"}) == (nobody, {"n3"})
    assert exchanged(made, b, ["n3"]) == (nobody, {"n3"}), "what is shared stays so"


def test_accounts_of_ended_allocations_are_removed(tmp_path: Path) -> None:
    made = Allocation(tmp_path)
    made.claim("a", 1)
    os.utime(made.directory, (1.0, 1.0))
    node_claims.forget(str(tmp_path), 2.0)
    assert node_claims.newest(made.directory)[0] == 1, "a task of it runs"
    made.kill("a")
    node_claims.forget(str(tmp_path), 1.0)
    assert node_claims.newest(made.directory)[0] == 1, "a task may be beginning in it"
    node_claims.forget(str(tmp_path), 2.0)
    assert not Path(made.directory).exists()
    node_claims.forget(f"{tmp_path}/none", 2.0)
    (tmp_path / "allocations" / "planted").symlink_to(tmp_path / "a")
    node_claims.forget(str(tmp_path), 2e10)
    assert (tmp_path / "a" / "lock").exists()


def test_a_node_that_was_claimed_while_nobody_ran_the_task_is_another_task_s(tmp_path: Path) -> None:
    """Its isolator was killed, and is started again by the keeper a moment later."""
    made = Allocation(tmp_path)
    made.claim("a", 1)
    made.kill("a")
    assert made.claim("b", 1)[0] == ("n1",)
    made.begin("a")
    a = str(tmp_path / "a")
    assert exchanged(made, a, ["n1"]) == ({"n1"}, {"n1"})
    assert exchanged(made, a, ["n2"]) == (set(), {"n1"})


def test_a_task_claims_anew_in_the_place_of_what_it_had(tmp_path: Path) -> None:
    made = Allocation(tmp_path)
    made.claim("a", 2)
    assert made.claim("a", 1)[0] == ("n1",)
    assert made.claim("b", 1)[0] == ("n2",)


@pytest.mark.parametrize("content", ["", "no json", "[]", '{"x": 1}', '{"x": ["n1", 2]}'])
def test_a_damaged_account_stops_nobody(tmp_path: Path, content: str) -> None:
    made = Allocation(tmp_path)
    made.claim("a", 1)
    Path(made.directory, "2").write_text(content)
    assert made.claim("b", 1)[0] == ("n1",)
    assert made.claim("a", 1)[0] == ("n2",)


def test_old_states_do_not_pile_up_and_who_slept_changes_nothing(tmp_path: Path) -> None:
    made = Allocation(tmp_path)
    for _ in range(100):
        made.claim("a", 1)
    assert len(list(Path(made.directory).iterdir())) <= 64
    assert not node_claims._written(made.directory, 2, {"sleeper": ["n1"]})
    assert "sleeper" not in node_claims.newest(made.directory)[1]


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 3)), max_size=12))
def test_nobody_shares_a_node_while_another_one_is_free(steps: list[tuple[str, int]]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as place:
        made = Allocation(Path(place))
        held: dict[str, set[str]] = {}
        for name, wanted in steps:
            if wanted:
                before = {node for other, nodes in held.items() if other != name for node in nodes}
                held[name] = set(made.claim(name, wanted)[0])
                assert len(held[name] - before) == min(wanted, len(set(NODES) - before))
            elif name in held:
                made.end(name)
                del held[name]
                (Path(place) / name / "result.json").unlink()
        for lock in made.locks.values():
            os.close(lock)


PROGRAM = """\
import sys
from whesl.runtime.isolator.nodes import node_claims
from whesl.runtime.locking import takeover_lock
directory, task = sys.argv[1:]
lock = takeover_lock.take(f"{task}/lock", takeover_lock.owned())
nodes = [f"n{n}" for n in range(12)]
def free(used, own):
    return [n for n in nodes if n not in used][:1]
print(node_claims.claim(directory, task, free)[0][0], flush=True)
sys.stdin.readline()
"""


def test_processes_that_claim_at_once_get_different_nodes(tmp_path: Path) -> None:
    directory = node_claims.account(str(tmp_path), "slurm", "7", 0)
    started = []
    for number in range(6):
        task = tmp_path / f"task{number}"
        task.mkdir()
        words = [sys.executable, "-c", PROGRAM, directory, str(task)]
        started.append(subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
    said = []
    for process in started:
        assert process.stdout is not None
        said.append(process.stdout.readline().strip())
    assert len(set(said)) == 6, said
    for process in started:
        process.communicate("\n")
