"""Trouble in each phase of a checkpoint, on real processes: three nodes of one rank each, on this host."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from tests import commands
from tests.alike import alike
from tests.checkpoints import asking
from tests.equipment import faults
from tests.waiting import until
from whesl.checkpoints import control, manifest, rank_shared_memory
from whesl.checkpoints.client import Client
from whesl.checkpoints.core.states_and_events import Predicted, Requested
from whesl.checkpoints.job_launch import page_of
from whesl.checkpoints.rank_shared_memory import Page, Slot, SlotState
from whesl.checkpoints.rendezvous import find

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = [pytest.mark.costly, pytest.mark.timeout(300)]
RANKS = Path(__file__).with_name("ranks.py")
ROOT = Path(__file__).resolve().parents[2]
NODES = ("n0", "n1", "n2")
PAGE = 4096  # bytes: what a small file takes on a tmpfs


class Nodes:
    """A coordinator, and an agent and a rank on each of three nodes that this host plays."""

    def __init__(
        self, place: Path, directory: Path, options: tuple[str, ...] = (), ranks: int = len(NODES)
    ) -> None:
        self.place, self.directory, self.options = place, directory, options
        self.name = f"phases-{os.getpid()}-{place.name[-12:]}"
        self.environment = {**os.environ, "WHESL_HOME": str(place / "home"), "PYTHONPATH": str(ROOT)}
        self.environment |= {"WHESL_CKPT_PATIENCE": "60", "WHESL_CKPT_JOB": self.name}
        place_of_page = page_of(self.name, "alone", "%n")
        self.environment |= {"WHESL_CKPT_PAGE": str(place_of_page), "WHESL_CKPT_DIR": str(directory)}
        self.log = (place / "log").open("w")
        self.processes: list[subprocess.Popen[bytes]] = []
        self.serve()
        self.wait(lambda: (place / "home" / "ckpt" / self.name / "address").exists())
        for node in NODES:
            self.begin(["ckpt", "agent", "--name", self.name, "--node", node], SLURMD_NODENAME=node)
        for rank in range(ranks):
            self.begin_rank(rank)
        self.wait(lambda: sum(node["ranks"] for node in self.nodes().values()) == ranks)

    def serve(self) -> None:
        command = ["ckpt", "serve", "--name", self.name, "--dir", str(self.directory), *self.options]
        self.coordinator = self.begin(command)

    def begin_rank(self, rank: int) -> subprocess.Popen[bytes]:
        # One of Slurm's variables names the node, the other the rank.
        command = [sys.executable, str(RANKS), str(rank), str(len(NODES)), "100000"]
        return self.begin(command, SLURMD_NODENAME=NODES[rank], SLURM_PROCID=str(rank))

    def begin(self, command: list[str], **environment: str) -> subprocess.Popen[bytes]:
        start: Callable[..., subprocess.Popen[Any]] = partial(subprocess.Popen, command)
        if command[0] == "ckpt":
            start = partial(commands.begin, *command)
        process = start(
            cwd=self.place,
            env={**self.environment, **environment},
            stdout=self.log,
            stderr=subprocess.STDOUT,
        )
        self.processes.append(process)
        return process

    def tell(self, message: Predicted | Requested) -> str:
        """Return what the coordinator answers, without a process of the command line for each."""
        home = self.place / "home"
        self.wait(self.status)
        address = find(home / "ckpt" / self.name)
        assert address is not None
        return control.ask(address, message, 60.0, home=home).text

    def predict(self, node: str, lead: float) -> str:
        return self.tell(Predicted(node=node, lead=lead))

    def status(self) -> dict[str, Any]:
        return asking.status(self.place / "home", self.name)

    def nodes(self) -> dict[str, dict[str, Any]]:
        nodes: dict[str, dict[str, Any]] = self.status().get("nodes", {})
        return nodes

    def phases(self) -> list[str]:
        nodes = self.nodes()
        return [nodes.get(node, {}).get("phase", "") for node in NODES]

    def hold(self, *ranks: int) -> None:
        for rank in ranks:
            (self.place / f"hold-{rank}").touch()

    def let(self, *ranks: int) -> None:
        for rank in ranks:
            (self.place / f"hold-{rank}").unlink()

    def said(self) -> str:
        return (self.place / "log").read_text()

    def whole(self) -> list[int]:
        return [found.epoch for found in manifest.whole(self.directory)]

    def released(self, node: int) -> int:
        """Return the last checkpoint of which a node's ranks know that it is over."""
        sheet = Page(page_of(self.name, "alone", NODES[node]), self.directory)
        number = sheet.get(rank_shared_memory.RELEASED)
        sheet.close(remove=False)
        return number

    def order(self, number: int) -> list[int]:
        """Return the ranks in the order in which they wrote a checkpoint."""
        folder = self.directory / str(number)
        return sorted(range(len(NODES)), key=lambda rank: (folder / f"rank-{rank}.part").stat().st_mtime_ns)

    def wait(self, condition: Callable[[], Any]) -> None:
        try:
            until(condition, "what is waited for", 30)
        except AssertionError:
            raise AssertionError(f"{self.said()}\n{self.status()}") from None

    def kill_coordinator(self) -> None:
        self.coordinator.kill()
        self.coordinator.wait()
        self.serve()

    def still_works(self) -> None:
        """Ranks run on after all of it, and write a whole checkpoint."""
        before = max(self.whole(), default=0)
        self.wait(lambda: self.status().get("checkpoint", 0) is None)
        self.tell(Requested())
        self.wait(lambda: max(self.whole(), default=0) > before)

    def end(self) -> None:
        (self.place / "end").touch()
        for process in reversed(self.processes):
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.terminate()
        for process in self.processes:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for left in page_of(self.name, "alone", "").parent.glob(f"{self.name}.*"):
            left.unlink()  # of an agent that was killed
        self.log.close()


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as made:
        yield made


@pytest.fixture
def nodes(tmp_path: Path, stack: ExitStack) -> Nodes:
    return _nodes(tmp_path, tmp_path / "kept", stack)


def _nodes(place: Path, directory: Path, stack: ExitStack, *options: str, ranks: int = len(NODES)) -> Nodes:
    (place / "home").mkdir(mode=0o700, parents=True)
    made = Nodes(place, directory, options, ranks)
    stack.callback(made.end)
    return made


def agent(nodes: Nodes, number: int) -> psutil.Process:
    """Return the process that serves a node's ranks, which another one keeps alive."""
    served: psutil.Process = until(psutil.Process(nodes.processes[1 + number].pid).children, "it", 30)[0]
    return served


def test_an_agent_that_is_killed_is_started_again(nodes: Nodes) -> None:
    """Its node kept the whole job from writing checkpoints, to the end."""
    agent(nodes, 1).kill()
    nodes.still_works()
    nodes.hold(0, 1, 2)
    nodes.predict("n1", 90)
    nodes.wait(lambda: nodes.phases() == ["waiting", "committing", "waiting"])
    agent(nodes, 1).kill()
    nodes.let(0, 1, 2)
    nodes.still_works()


@pytest.mark.slow
@pytest.mark.parametrize("coordinator", alike([True, False]))
def test_an_agent_is_killed_while_its_rank_restores(
    tmp_path: Path, stack: ExitStack, coordinator: bool
) -> None:
    """Alone, and together with the coordinator: what a rank has verified is told again."""
    with ExitStack() as first:
        nodes = _nodes(tmp_path / "first", tmp_path / "kept", first)
        nodes.tell(Requested())
        nodes.wait(lambda: nodes.whole() == [1])
    step = manifest.whole(tmp_path / "kept")[0].step
    nodes = _nodes(tmp_path / "again", tmp_path / "kept", stack, ranks=2)
    pages = [page_of(nodes.name, "alone", node) for node in NODES[:2]]

    def verified() -> list[int]:
        sheets = [Page(page, nodes.directory) for page in pages]
        found = [slot.verified for sheet in sheets for slot in sheet.ranks()]
        for sheet in sheets:
            sheet.close(remove=False)
        return found

    nodes.wait(lambda: verified() == [3, 3])  # both wait for the third one
    agent(nodes, 1).kill()
    if coordinator:
        nodes.kill_coordinator()
    nodes.begin_rank(2)
    nodes.wait(lambda: nodes.said().count(f"restored step {step} of checkpoint 1") == len(NODES))
    nodes.still_works()


def test_of_two_vulnerable_nodes_the_one_with_less_time_left_writes_first(nodes: Nodes) -> None:
    nodes.hold(0, 1, 2)
    nodes.predict("n0", 90)
    nodes.wait(lambda: nodes.phases() == ["committing", "waiting", "waiting"])
    nodes.predict("n2", 80)
    nodes.predict("n1", 40)
    nodes.let(0)  # what writes already is not interrupted
    nodes.wait(lambda: nodes.phases() == ["committed", "committing", "waiting"])
    nodes.let(1)
    nodes.wait(lambda: nodes.phases() == ["committed", "committed", "committing"])
    nodes.let(2)
    nodes.wait(lambda: nodes.whole() == [1])
    assert nodes.order(1) == [0, 1, 2]


@pytest.mark.slow
def test_a_node_that_dies_after_its_commit_is_in_the_checkpoint(nodes: Nodes) -> None:
    nodes.hold(0, 2)
    nodes.predict("n2", 100)
    nodes.wait(lambda: nodes.phases() == ["waiting", "waiting", "committing"])
    nodes.let(2)
    nodes.wait(lambda: nodes.phases() == ["committing", "committed", "committed"])
    for process in (nodes.processes[3], nodes.processes[6]):
        process.kill()
    nodes.wait(lambda: nodes.phases()[2] == "lost")
    nodes.let(0)
    nodes.wait(lambda: nodes.whole() == [1])
    # Also where its ranks are the last: the others alone would look like a whole program.
    assert [part.rank for part in manifest.whole(nodes.directory)[0].parts] == [0, 1, 2]


def test_a_false_prediction_costs_a_checkpoint_and_nothing_else(nodes: Nodes) -> None:
    assert "there is no migration here" in nodes.predict("n1", 2)
    nodes.wait(lambda: nodes.whole() == [1])
    nodes.wait(lambda: nodes.nodes()["n1"] == {"phase": "normal", "ranks": 1, "fails_in": None})
    assert nodes.whole() == [1]
    nodes.still_works()


def test_a_node_is_moved_by_the_site_s_command_where_its_lead_covers_that(
    tmp_path: Path, stack: ExitStack
) -> None:
    move = "sh -c 'echo $0 >> moved; test $0 != n2'"
    nodes = _nodes(tmp_path, tmp_path / "kept", stack, "--migrate", move, "--theta", "20")
    assert "a migration takes 20.0 s" in nodes.predict("n0", 19)
    nodes.wait(lambda: nodes.whole() == [1])
    nodes.predict("n1", 90)
    nodes.wait(lambda: "n1 was migrated" in nodes.said())
    assert nodes.nodes()["n1"]["fails_in"] is None and nodes.whole() == [1]
    # It was measured, and took less; what cannot be moved writes its checkpoint.
    nodes.predict("n2", 18)
    nodes.wait(lambda: nodes.whole() == [2, 1])
    assert "n2 was not migrated: sh ended with 1" in nodes.said()
    assert (tmp_path / "moved").read_text().split() == ["n1", "n2"]


@pytest.mark.slow
@pytest.mark.parametrize("phase", alike(["second", "agreeing", "first", "sealing"]))
def test_the_coordinator_is_killed_in_each_phase(nodes: Nodes, phase: str) -> None:
    nodes.hold(0, 1, 2)
    if phase == "agreeing":
        stopped = agent(nodes, 0)  # it does not answer
        stopped.suspend()
    nodes.predict("n1", 200)
    if phase == "agreeing":
        nodes.wait(lambda: (nodes.status().get("checkpoint") or {}).get("phase") == "agreeing")
        nodes.kill_coordinator()
        stopped.resume()
        nodes.wait(lambda: nodes.phases() == ["waiting", "committing", "waiting"])
        nodes.let(0, 1, 2)
    else:
        nodes.wait(lambda: nodes.phases() == ["waiting", "committing", "waiting"])
        if phase == "first":
            nodes.kill_coordinator()
            # The new one knows from the agent that this node is to write before the others.
            nodes.wait(lambda: nodes.phases() == ["waiting", "committing", "waiting"])
        nodes.let(1)
        nodes.wait(lambda: nodes.phases() == ["committing", "committed", "committing"])
        if phase == "sealing":
            nodes.coordinator.send_signal(signal.SIGSTOP)
        nodes.let(0, 2)
        if phase == "second":
            nodes.kill_coordinator()
        if phase == "sealing":
            nodes.wait(lambda: len(list((nodes.directory / "1").glob("*.part"))) == len(NODES))
            nodes.kill_coordinator()
    # Before a step was proposed there is nothing to take up, and the prediction begins another checkpoint.
    number = 2 if phase == "agreeing" else 1
    nodes.wait(lambda: nodes.whole() == [number])
    if phase != "agreeing":
        assert nodes.order(1)[0] == 1
    nodes.still_works()


def test_a_rank_that_does_not_write_is_told_of_and_given_up(tmp_path: Path, stack: ExitStack) -> None:
    """All ranks had waited for an hour, and only its node was named."""
    nodes = _nodes(tmp_path, tmp_path / "kept", stack, "--arrival", "5")
    nodes.hold(1)
    nodes.tell(Requested())
    why = "n1: rank 1: it was let to write, and has neither written nor committed for 5 s"
    nodes.wait(lambda: f"checkpoint 1 was given up: {why}" in nodes.said())
    assert "still writing after 5 s: rank 1 on n1" in nodes.said() and nodes.whole() == []
    # What the others have written is freed at once.
    assert [file.name for file in (nodes.directory / "1").iterdir()] == [manifest.BEGUN]
    nodes.wait(lambda: nodes.released(1) == 1)  # until its agent has heard so, it commits as the others do
    # The others go on, and the rank once its write has returned: what it commits then is in no checkpoint.
    nodes.let(1)
    nodes.wait(lambda: "rank 1 wrote" in nodes.said())
    assert nodes.whole() == [] and not list((nodes.directory / "1").glob("*.part"))
    nodes.tell(Requested())
    nodes.wait(lambda: manifest.numbers(nodes.directory) == [2])


@pytest.mark.slow
@pytest.mark.parametrize(("phase", "why"), [("first", "n1"), ("second", "n0"), ("sealing", "manifest")])
def test_the_disk_is_full_in_each_phase(tmp_path: Path, stack: ExitStack, phase: str, why: str) -> None:
    try:
        disk = stack.enter_context(faults.tmpfs(tmp_path / "disk", 64 * PAGE))
    except faults.FaultError as error:
        pytest.skip(str(error))
    nodes = _nodes(tmp_path, disk.path / "kept", stack)
    nodes.tell(Requested())
    nodes.wait(lambda: nodes.whole() == [1])
    nodes.hold(0, 1, 2)
    nodes.predict("n1", 100)
    nodes.wait(lambda: nodes.phases() == ["waiting", "committing", "waiting"])
    if phase == "second":
        nodes.let(1)
        nodes.wait(lambda: nodes.phases() == ["committing", "committed", "committing"])
    faults.fill(disk.path, leave=len(NODES) * PAGE if phase == "sealing" else 0)
    nodes.let(*((0, 2) if phase == "second" else (0, 1, 2)))
    nodes.wait(lambda: "checkpoint 2 was given up" in nodes.said())
    said = next(line for line in nodes.said().splitlines() if "checkpoint 2 was given up" in line)
    assert "No space left" in said
    assert why in said or phase == "second"
    assert nodes.whole() == [1]
    (disk.path / "ballast").unlink()
    nodes.still_works()


def test_a_rank_that_comes_late_does_not_tell_of_its_earlier_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between a checkpoint's number and the state of its part the agent looks, at the worst of times."""
    sheet = Page(tmp_path / "page", tmp_path)
    monkeypatch.setenv("WHESL_CKPT_PAGE", str(sheet.path))
    client = Client(0, 1)
    for number in (1, 2):
        sheet.put(rank_shared_memory.EPOCH, number)
        sheet.put(rank_shared_memory.GRANTED, number)
        sheet.put(rank_shared_memory.TARGET, number)
        (tmp_path / str(number)).mkdir()
        seen: list[Slot] = []

        def looking(*names: str, seen: list[Slot] = seen) -> Path:
            seen.extend(sheet.ranks())
            return Path(*names)

        monkeypatch.setattr("whesl.checkpoints.client.Path", looking)
        assert client.poll()
        assert all((slot.epoch, slot.state) == (number, SlotState.RUNNING) for slot in seen)
        assert seen
        client.path.write_text("x" * number)
        client.commit(client.path)
    client.finish()
    sheet.close(remove=True)
