"""Whole runs on an embedded cluster and instances that are processes, with what goes wrong."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cloud.runner import kills, worlds
from tests.cloud.runner.worlds import PATIENCE, World
from tests.waiting import until
from whesl.cloud.core.plan_records import Domain
from whesl.cloud.providers.port import NoCapacityError
from whesl.cloud.runner import run_lifecycle as runs
from whesl.cloud.runner import run_records as r
from whesl.cloud.runner import summary
from whesl.cloud.runner.cluster_and_cloud_executors import Side
from whesl.cloud.runner.state import RunState
from whesl.managers.resource.embedded import daemons
from whesl.managers.resource.embedded.adapter import LocalScheduler
from whesl.managers.resource.embedded.cluster_directory import Cluster as LocalCluster
from whesl.model.errors import CouldNotObserveError, TransientError, UsageError
from whesl.runtime.journal.sqlite_errors import JournalError


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    made = worlds.local_cluster(tmp_path_factory.mktemp("site"), 2)
    yield made
    daemons.stop(made)


def run(world: World, made: dict[Domain, Side] | None = None) -> RunState:
    return runs.carry_out(world.place, made=made or world.sides())


@pytest.mark.costly
def test_both_sides(tmp_path: Path, cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tasks on both; data go both ways, each copy compared; the results are on the cluster's side."""
    # Threads that start and watch executors read the state while the one that decides changed it.
    readers: set[int] = set()

    def noted(state: RunState, name: str) -> Any:
        readers.add(threading.get_ident())
        return object.__getattribute__(state, name)

    monkeypatch.setattr(RunState, "__getattribute__", noted)
    world = World(tmp_path, cluster, nodes=1, instances=1, width=3, seconds=0.3, backup=False)
    state = run(world)
    assert readers == {threading.get_ident()}
    world.right(state)
    where = {one.domain for one in state.tasks.values()}
    assert where == {Domain.HPC, Domain.CLOUD}
    assert state.cost(time.time()) > 0
    assert isinstance(world.records()[0], r.RunStarted)


@pytest.mark.costly
def test_a_run_that_breaks_off_leaves_its_executors_and_nothing_else(
    tmp_path: Path, cluster: LocalCluster
) -> None:
    """The provider's server stayed when nothing could be written down any more; the next run goes on."""
    world = World(tmp_path, cluster, nodes=1, instances=1, width=3, seconds=0.3, backup=False)

    def notify(record: r.Record) -> None:
        if isinstance(record, r.Assigned):
            raise JournalError("no room", reason="full")

    with pytest.raises(JournalError):
        runs.carry_out(world.place, made=world.sides(), notify=notify)
    instances = LocalCluster(str(world.place / "instances" / "cluster"))
    until(lambda: daemons.server_pid(instances) is None, "the provider's server ends", PATIENCE)
    world.right(run(world))


@pytest.mark.costly
def test_the_runner_is_killed_again_and_again(tmp_path: Path, cluster: LocalCluster) -> None:
    """At any moment, in the middle of a call too: the next one goes on; nothing is started twice."""
    world = World(tmp_path, cluster, nodes=1, instances=1, width=3, seconds=0.3, backup=False)
    program = f"""
from pathlib import Path
from {runs.__name__} import carry_out
carry_out(Path({str(world.place)!r}))
"""
    finished = False
    for pause in (0.5, 0.9, 1.3, 1.7, 2.6, 3.4, PATIENCE):
        process = subprocess.Popen([sys.executable, "-c", program])
        try:
            process.wait(pause)
            finished = True
            break
        except subprocess.TimeoutExpired:
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
            state = runs.state_of(world.place) if (world.place / "journal.db").exists() else None
            if state is not None and state.started is not None and state.ended is None:
                shown = summary.lines(
                    summary.summary(state, time.time(), carried=runs.carried(world.place)), time.time()
                )
                assert "nobody carries it out" in shown[1]
    assert finished, "the run did not end"
    world.right(runs.state_of(world.place))


@pytest.mark.costly
def test_parts_are_killed_at_random_moments(tmp_path: Path, cluster: LocalCluster) -> None:
    """Runner, provider, instances and watchdogs; `python -m tests.cloud.runner.kills` goes on for longer."""
    played = kills.Kills(tmp_path, cluster, 5, 5.0)
    try:
        played.play()
    except AssertionError as error:
        raise AssertionError(f"seed {played.seed}, killed {dict(played.killed)}: {error}") from error


class Faulty:
    """A cloud's side with faults: what is set is done for each call, until it is taken back."""

    domain = Domain.CLOUD

    def __init__(self, side: Side) -> None:
        self.side = side
        self.store = side.store
        self.refuses = self.lost_replies = 0
        self.away = threading.Event()
        self.started: list[str] = []

    def start(self, asked: r.ExecutorAsked) -> str:
        self._there()
        if self.refuses:
            self.refuses -= 1
            raise NoCapacityError("there is no capacity")
        handle = self.side.start(asked)
        self.started.append(handle)
        if self.lost_replies:
            self.lost_replies -= 1
            raise TransientError("no reply came")
        return handle

    def check(self, seconds: float) -> None:
        self._there()
        self.side.check(seconds)

    def look(self, executors: Any, wanted: Any) -> Any:
        self._there()
        return self.side.look(executors, wanted)

    def end(self, known_as: str, handle: str) -> None:
        self._there()
        self.side.end(known_as, handle)

    def close(self) -> None:
        self.side.close()

    def _there(self) -> None:
        if self.away.is_set():
            raise CouldNotObserveError("the network is away")


class AwayStore:
    """A storage that is out of reach while a flag is set."""

    def __init__(self, store: Any, away: threading.Event) -> None:
        self._store, self._away = store, away

    def __getattr__(self, name: str) -> Any:
        if self._away.is_set() and not name.startswith("_"):
            raise CouldNotObserveError("the network is away")
        return getattr(self._store, name)


def faulty(world: World) -> tuple[dict[Domain, Side], Faulty]:
    made = world.sides()
    side = Faulty(made[Domain.CLOUD])
    side.store = AwayStore(side.store, side.away)
    return {Domain.HPC: made[Domain.HPC], Domain.CLOUD: side}, side


@pytest.mark.costly
def test_the_cloud_refuses_and_loses_replies(tmp_path: Path, cluster: LocalCluster) -> None:
    """A refused start is asked for again; one whose reply was lost is found by its token: one instance."""
    world = World(tmp_path, cluster, nodes=0, instances=1, width=2, backup=False)
    made, side = faulty(world)
    side.refuses, side.lost_replies = 3, 2
    state = run(world, made)
    world.right(state)
    assert len(set(side.started)) == sum(
        executor.domain is Domain.CLOUD and bool(executor.handle) for executor in state.executors.values()
    )
    assert any(isinstance(one, r.Trouble) and "capacity" in one.why for one in world.records())


@pytest.mark.slow
def test_an_instance_is_lost_and_a_spot_is_revoked(tmp_path: Path, cluster: LocalCluster) -> None:
    """With a task each: the tasks are given to others, and the instances are replaced."""
    world = World(tmp_path, cluster, nodes=0, instances=1, width=2, seconds=1.5, backup=False)
    made = world.sides()
    provider = made[Domain.CLOUD]._provider  # type: ignore[attr-defined] # the instances themselves are touched
    hit: list[str] = []

    def strike() -> None:
        while len(hit) < 2 and not over.wait(0.05):
            state = runs.state_of(world.place)
            for executor in state.executors.values():
                if executor.task and executor.alive and executor.handle and executor.handle not in hit:
                    hit.append(executor.handle)
                    if len(hit) == 1:
                        provider.lose(executor.handle)
                    else:
                        provider.revoke(executor.handle, 0.5)
                    break

    over = threading.Event()
    striker = threading.Thread(target=strike)
    striker.start()
    try:
        state = run(world, made)
    finally:
        over.set()
        striker.join()
    assert len(hit) == 2
    world.right(state)
    assert any(executor.replaced for executor in state.executors.values())


@pytest.mark.costly
def test_the_cluster_grants_nothing(tmp_path: Path, cluster: LocalCluster) -> None:
    """Its requests wait; the cloud's backup does the work, and the requests are withdrawn at the end."""
    for node in ("n01", "n02"):
        _drain(cluster, node)
    try:
        world = World(tmp_path, cluster, nodes=1, instances=0, width=2)
        state = run(world)
        world.right(state)
        assert {one.domain for one in state.tasks.values()} == {Domain.CLOUD}
    finally:
        for node in ("n01", "n02"):
            _resume(cluster, node)


def test_nothing_is_given_at_all(tmp_path: Path, cluster: LocalCluster) -> None:
    """The likely miss of the deadline is told long before it, and the reasons; stopping ends all of it."""
    for node in ("n01", "n02"):
        _drain(cluster, node)
    try:
        world = World(tmp_path, cluster, nodes=1, instances=1, width=2)
        made, side = faulty(world)
        side.refuses = 10**6

        def stop() -> None:
            until(lambda: runs.state_of(world.place).risk is not None, "the risk is told", PATIENCE)
            (world.place / runs.STOP).touch()

        watcher = threading.Thread(target=stop)
        watcher.start()
        state = run(world, made)
        watcher.join()
        assert state.risk is not None and state.started is not None
        assert state.ended is not None and not state.ended.complete
        assert state.ended_at < state.started.deadline
        assert not any(executor.alive for executor in state.executors.values())
    finally:
        for node in ("n01", "n02"):
            _resume(cluster, node)


@pytest.mark.costly
def test_the_network_between_breaks(tmp_path: Path, cluster: LocalCluster) -> None:
    """Nobody is taken for gone; what was done meanwhile is heard of when it is back."""
    world = World(tmp_path, cluster, nodes=0, instances=1, width=2, seconds=0.5, backup=False)
    made, side = faulty(world)

    def breaks() -> None:
        until(lambda: any(one.task for one in state().executors.values()), "a task runs", PATIENCE)
        side.away.set()
        time.sleep(3.0)
        side.away.clear()

    def state() -> RunState:
        return runs.state_of(world.place)

    breaker = threading.Thread(target=breaks)
    breaker.start()
    found = run(world, made)
    breaker.join()
    world.right(found)
    assert sum(one.lost for one in found.tasks.values()) == 0
    assert any(isinstance(one, r.Trouble) and one.over for one in world.records())


def test_an_input_is_missing(tmp_path: Path, cluster: LocalCluster) -> None:
    """It is said before anything is started."""
    world = World(tmp_path, cluster, nodes=1, instances=1)
    (world.place / "cluster" / "data" / "input").unlink()
    with pytest.raises(UsageError, match="input"):
        run(world)
    assert not runs.state_of(world.place).executors
    # The same command begins anew: what was wrong with its options can be put right.
    assert not runs.started(world.place)
    runs.begin(world.place, world.workflow, world.setup.initial, world.setup.limits, world.site)
    until(lambda: not world.left(), "nothing is left running", 30)


def _drain(cluster: LocalCluster, node: str) -> None:
    LocalScheduler(cluster.path).mark_node(node, "test")


def _resume(cluster: LocalCluster, node: str) -> None:
    LocalScheduler(cluster.path).unmark_node(node)
