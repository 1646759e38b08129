"""What is done with nodes, on a virtual clock with a cluster that forgets, fails and has administrators."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.alike import examples
from whesl.model.journal_record import Record
from whesl.placement.site.publish.core import node_changes
from whesl.placement.site.publish.core.drains_yield_to_waiting_jobs import give_way
from whesl.placement.site.publish.core.node_changes import (
    Command,
    Done,
    Drain,
    Leave,
    Observed,
    SetFeatures,
    Settings,
    SetWeight,
    State,
    Undrain,
)
from whesl.placement.site.publish.node_change_records import What, Would
from whesl.placement.site.publish.observed_node import Node
from whesl.placement.site.publish.plugin_file import Request
from whesl.placement.site.publish.risk_table import NodeRisk, Table
from whesl.placement.site.publish.waiting_job_exclusions import Job

NAMES = tuple(f"n{at:02d}" for at in range(1, 11))
ACTIVE = Settings(active=True, share=0.2, settle=100.0, drain_within=1000.0, within=1000.0)


class World:
    """Ten nodes, a service, and a clock."""

    def __init__(self, how: Settings = ACTIVE) -> None:
        self.how, self.now, self.state = how, 1e9, State()
        self.nodes = {
            name: Node(name=name, flags=frozenset({"idle"}), partitions=("main",), weight=5) for name in NAMES
        }
        self.journal: list[tuple[float, Record]] = []
        self.risk: dict[str, float] = {}
        self.known = True
        self.waiting: tuple[Job, ...] | None = ()

    def change(self, name: str, **fields: object) -> None:
        self.nodes[name] = msgspec.structs.replace(self.nodes[name], **fields)

    def drained(self) -> set[str]:
        return {name for name, node in self.nodes.items() if node.drained}

    def table(self) -> Table | None:
        rows = tuple(NodeRisk(node=name, probability=(self.risk.get(name, 0.0),)) for name in NAMES)
        if not self.known:
            return None
        until = self.now + 60.0
        return Table(
            written=self.now, valid_until=until, horizons=(1000.0,), nodes=rows, source="x", thresholds=(0.5,)
        )

    def step(self, event: node_changes.Event, *, performed: bool = True) -> list[Command]:
        self.state, records, commands = node_changes.step(self.state, event, self.now, self.how)
        self.journal += [(self.now, record) for record in records]
        for command in commands if performed else ():
            self.perform(command)
        return commands

    def look(self, after: float = 10.0, *, performed: bool = True) -> list[Command]:
        self.now += after
        seen = Observed(tuple(self.nodes.values()), self.table(), self.waiting)
        return self.step(seen, performed=performed)

    def perform(self, command: Command) -> None:
        node = self.nodes[command.node]
        match command:
            case SetWeight(name, weight, undo):
                self.change(name, weight=weight)
                if undo:
                    self.step(Done(name, What.WEIGHT, undo=True))
            case SetFeatures(name, available, active, undo):
                self.change(name, features=available, active_features=active)
                if undo:
                    self.step(Done(name, What.FEATURE, undo=True))
            case Drain(name, reason):
                self.change(name, flags=node.flags | {"drain"}, reason=reason)
                self.step(Done(name, What.DRAIN, undo=False))
            case Undrain(name, reason):
                assert node.reason == reason
                self.change(name, flags=node.flags - {"drain"}, reason="")
                self.step(Done(name, What.DRAIN, undo=True))

    def restart(self) -> None:
        """Kill the service and start it again from its journal."""
        self.state = State()
        for time, record in self.journal:
            self.state = node_changes.apply(self.state, record, time)

    def forget(self) -> None:
        """Start slurmctld again: weights and features are those of slurm.conf."""
        for name in NAMES:
            self.change(name, weight=5, features=(), active_features=())

    def clean(self) -> bool:
        return all(
            node.weight == 5 and not node.features and not node.drained for node in self.nodes.values()
        )


def test_risk_raises_weight_feature_and_drain_within_the_share() -> None:
    world = World()
    world.risk = {"n01": 0.95, "n02": 0.99, "n03": 0.91, "n04": 0.2, "n07": 0.6}
    world.look()
    assert world.drained() == {"n01", "n02"}
    assert [world.nodes[name].weight for name in ("n02", "n03", "n04", "n06")] == [3005, 2005, 5, 5]
    assert world.nodes["n07"].weight == 1005
    assert world.nodes["n03"].features == ("whesl_at_risk",)
    assert world.nodes["n02"].reason.startswith(
        "whesl: predicted to fail (0.99 within 0.277778 h), until 2001"
    )
    assert world.look() == []


def job(nodes: int, **more: Any) -> Job:
    request = Request(partitions=more.pop("partitions", ("main",)), nodes=nodes, **more.pop("asks", {}))
    return Job(name="1", waiting=True, request=request, excluded=(), submitted=0.0, **more)


def test_drains_give_way_to_what_waiting_jobs_need_and_come_back_after() -> None:
    # A job of the whole machine waited behind them until their end.
    world = World()
    world.risk = {"n01": 0.95, "n02": 0.99}
    world.look()
    assert world.drained() == {"n01", "n02"}
    world.waiting = (job(9),)
    world.look()
    assert world.drained() == {"n02"}  # the one that matters more
    world.waiting = (job(9), job(10))
    world.look()
    assert world.drained() == set()
    world.waiting = (job(11),)  # it could not run anyway
    world.look()
    assert world.drained() == {"n01", "n02"}
    world.waiting = (job(1, named=("n02",)),)
    world.look()
    assert world.drained() == {"n01"}
    world.waiting = ()
    world.look()
    assert world.drained() == {"n01", "n02"}


def test_a_job_that_needs_a_node_that_comes_back_waits_for_no_other_drain() -> None:
    """The drain taken back in the same look was counted as there, and the job as one that could not run."""
    world = World()
    world.risk = {"n01": 0.95, "n02": 0.99}
    world.look()
    world.change("n03", flags=frozenset({"down"}))
    world.risk, world.waiting = {"n02": 0.99}, (job(9),)
    world.look(500.0)
    assert world.drained() == set()


def test_nothing_is_drained_while_nobody_knows_what_jobs_need() -> None:
    world = World()
    world.risk = {"n01": 0.95}
    world.look()
    world.risk["n02"] = 0.99
    world.waiting = None
    world.look()
    assert world.drained() == {"n01"}


requests = st.builds(
    job,
    st.integers(1, 12),
    partitions=st.sampled_from([("main",), ("odd",), ("main", "odd")]),
    asks=st.fixed_dictionaries(
        {
            "cpus": st.integers(1, 30),
            "node_cpus": st.integers(1, 4),
            "features": st.sampled_from([(), ("big",)]),
        }
    ),
)


@settings(max_examples=examples(150))
@given(st.lists(requests, max_size=4), st.permutations(NAMES), st.integers(0, 10))
def test_whoever_can_run_without_drains_can_run_beside_them(
    waiting: list[Job], order: list[str], count: int
) -> None:
    machine = {
        name: Node(
            name=name,
            flags=frozenset({"idle", "drain"} if name in order[:count] else {"idle"}),
            partitions=("main", "odd") if at % 2 else ("main",),
            cpus=2 + 2 * (at > 4),
            memory=100,
            features=("big",) if at > 6 else (),
        )
        for at, name in enumerate(NAMES)
    }

    def runs(one: Job, there: list[Node]) -> bool:
        """Whether a job finds its nodes in one of its partitions."""
        for part in one.request.partitions:
            fits = [
                node
                for node in there
                if part in node.partitions
                and node.cpus >= one.request.node_cpus
                and set(one.request.features) <= set(node.features)
            ]
            least = min((node.cpus for node in fits), default=1)
            if len(fits) >= max(one.request.nodes, -(-one.request.cpus // least)):
                return True
        return False

    kept = give_way(order[:count], machine, waiting)
    assert kept <= set(order[:count])
    for one in waiting:
        if runs(one, list(machine.values())):
            assert runs(one, [node for node in machine.values() if node.name not in kept])


def test_a_change_falls_late_and_only_when_the_risk_is_clearly_less() -> None:
    world = World()
    world.risk = {"n01": 0.6}
    world.look()
    world.risk = {"n01": 0.45}
    world.look(500.0)
    assert world.nodes["n01"].weight == 1005  # 0.45 is above 0.8 of the bound
    world.risk = {"n01": 0.0}
    world.look(500.0)
    assert world.clean()


def test_a_drain_runs_out_and_pauses_and_one_that_came_true_ends_with_the_repair() -> None:
    world = World()
    world.risk = {"n01": 1.0, "n02": 1.0}
    world.look()
    down = frozenset({"down"})
    world.change("n02", flags=world.nodes["n02"].flags | down)
    world.look()
    world.change("n02", flags=world.nodes["n02"].flags - down)
    world.risk = {"n01": 1.0}
    world.look()
    assert world.drained() == {"n01"}
    world.look(1000.0)
    assert world.drained() == set()
    world.look(500.0)
    assert world.drained() == set()
    world.look(600.0)
    assert world.drained() == {"n01"}


def test_a_clock_that_was_set_back_holds_nothing_longer() -> None:
    """Times that lie ahead kept each change, however low the risk, until the clock was there again."""
    world = World()
    world.risk = {"n01": 0.95, "n02": 0.3}
    world.look()
    assert world.drained() == {"n01"}
    world.now -= 86400.0
    world.risk = {}
    world.look()
    assert world.clean()


def test_a_drain_of_a_lost_journal_ends_when_it_says() -> None:
    """It looked like an administrator's, and stayed."""
    world = World()
    world.risk = {"n01": 0.95}
    world.look()
    world.state, world.journal, world.risk = State(), [], {}
    world.look()
    assert world.drained() == {"n01"}
    world.how = msgspec.structs.replace(ACTIVE, active=False)
    assert not world.look(2000.0)
    world.how = ACTIVE
    world.look()
    assert not world.drained()


def test_an_administrators_node_is_left_alone() -> None:
    world = World()
    world.change("n01", flags=frozenset({"idle", "drain"}), reason="disk")
    world.risk = {"n01": 1.0, "n02": 1.0}
    world.look()
    assert world.nodes["n01"].weight == 5
    world.change("n02", reason="my own")
    world.look()
    world.step(Leave())
    world.look()
    assert (world.nodes["n01"].reason, world.nodes["n02"].reason) == ("disk", "my own")
    assert world.drained() == {"n01", "n02"}


def test_without_predictions_all_is_taken_back() -> None:
    world = World()
    world.risk = {"n01": 1.0}
    world.look()
    world.known = False
    world.look()
    assert world.clean()


def test_observing_records_and_does_nothing() -> None:
    world = World(msgspec.structs.replace(ACTIVE, active=False))
    world.risk = {"n01": 1.0, "n02": 1.0, "n03": 1.0}
    assert world.look() == []
    assert sum(isinstance(one, Would) and one.change.what is What.DRAIN for _, one in world.journal) == 2
    count = len(world.journal)
    assert world.look() == []
    assert len(world.journal) == count


@pytest.mark.parametrize("performed", [True, False])
def test_a_kill_between_journal_and_command_leaves_nothing_behind(performed: bool) -> None:
    world = World()
    world.risk = {"n01": 1.0}
    commands = world.look(performed=False)
    for command in commands[: len(commands) if performed else 1]:
        world.perform(command)
    world.restart()
    world.how = Settings(active=False)
    world.risk = {}
    world.look()
    world.look()
    assert world.clean()
    assert not world.state.held


events = st.lists(
    st.one_of(
        st.tuples(st.just("risk"), st.sampled_from(NAMES), st.sampled_from([0.0, 0.2, 0.45, 0.6, 0.95, 1.0])),
        st.tuples(st.just("look"), st.sampled_from([1.0, 90.0, 700.0]), st.booleans()),
        st.tuples(st.sampled_from(["restart", "forget", "predict", "silent"]), st.none(), st.none()),
        st.tuples(st.sampled_from(["down", "up", "drain", "resume"]), st.sampled_from(NAMES), st.none()),
    ),
    max_size=40,
)


@settings(max_examples=examples(60))
@given(events)
def test_whatever_happens_nothing_is_left_and_nothing_foreign_is_touched(
    story: list[tuple[str, object, object]],
) -> None:
    world = World()
    mine: set[str] = set()
    for what, one, two in story:
        name = str(one)
        match what:
            case "risk":
                world.risk[name] = float(str(two))
            case "look":
                world.look(float(str(one)), performed=bool(two))
            case "restart":
                world.restart()
            case "forget":
                world.forget()
            case "predict" | "silent":
                world.known = what == "predict"
            case "down" | "up":
                flags = world.nodes[name].flags - {"down"}
                world.change(name, flags=flags | {"down"} if what == "down" else flags)
            case "drain":
                world.change(name, flags=world.nodes[name].flags | {"drain"}, reason="disk")
                mine.add(name)
            case _:
                world.change(name, flags=world.nodes[name].flags - {"drain"}, reason="")
                mine.discard(name)
        ours = {name for name in world.drained() if world.nodes[name].reason.startswith(node_changes.OURS)}
        assert len(ours) <= 2
        assert {name for name in world.drained() if world.nodes[name].reason == "disk"} == mine
    world.step(Leave())
    world.look()
    world.look()
    assert world.drained() == mine
    assert all(node.weight == 5 and not node.features for node in world.nodes.values())
    assert not world.state.held
