"""Clusters with real processes, and small helpers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from tests.limits import late
from tests.waiting import until
from whesl.managers.resource.embedded import daemons, protocol
from whesl.managers.resource.embedded.cluster_directory import Cluster
from whesl.managers.resource.embedded.scheduler.job_and_node_records import Job, Partition, Settings

DEADLINE = 40.0


def wait_until(condition: Callable[[], object], what: str, seconds: float = DEADLINE) -> None:
    """Return when the condition holds; fail the test after ``seconds``."""
    until(condition, what, seconds)


def alive(pid: int) -> bool:
    """Whether a process exists and is no zombie."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


class Bed:
    """A cluster that runs, and how a user meets it."""

    def __init__(self, directory: Path, settings: Settings) -> None:
        self.cluster = Cluster(str(directory))
        self.settings = settings
        daemons.start(self.cluster, settings)
        self.environment = {
            **{k: v for k, v in os.environ.items() if not k.startswith(("SLURM", "SBATCH", "WHESL"))},
            "PATH": f"{self.cluster.join('bin')}:{Path(sys.executable).parent}:{os.environ['PATH']}",
            "WHESL_LOCAL": self.cluster.path,
            "USER": os.environ.get("USER", "tester"),
        }

    def run(self, *command: str, code: int | None = 0, **environment: str) -> str:
        """Run a command and return what it printed; fail when it ends with another code than asked."""
        result = subprocess.run(
            command,
            env={**self.environment, **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=DEADLINE,
            check=False,
        )
        if code is not None:
            assert result.returncode == code, (command, result.returncode, result.stdout, result.stderr)
        return result.stdout + result.stderr

    def submit(self, directory: Path, script: str, *options: str, **environment: str) -> str:
        """Submit the text of a script and return the job's id."""
        number = len(list(directory.glob("script-*")))
        path = directory / f"script-{number}.sh"
        path.write_text(f"#!/bin/sh\n{script}\n")
        words = ("sbatch", "--parsable", "-D", str(directory), *options, str(path))
        return self.run(*words, code=0, **environment).strip().splitlines()[-1]

    def job(self, reference: str) -> Job:
        """Return a job's record."""
        answer = self.cluster.call(protocol.ListJobs(jobs=(reference,)))
        assert isinstance(answer, protocol.Jobs)
        return answer.jobs[0]

    def wait(self, reference: str, *states: str) -> Job:
        """Wait for a job's state and return its record."""
        wait_until(lambda: self.job(reference).state.value in states, f"job {reference} is {states}")
        return self.job(reference)

    def ended(self, reference: str) -> Job:
        """Wait for a job's end and return its record."""
        wait_until(lambda: self.job(reference).state.ended, f"job {reference} has ended")
        return self.job(reference)

    def node(self, name: str) -> protocol.NodeView:
        """Return a node as users see it."""
        answer = self.cluster.call(protocol.ListNodes())
        assert isinstance(answer, protocol.Nodes)
        return next(view for view in answer.nodes if view.name == name)

    def kill_server(self) -> None:
        """Kill the server and return when it is gone."""
        pid = daemons.server_pid(self.cluster)
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: daemons.server_pid(self.cluster) is None, "the server is gone")

    def start_server(self) -> None:
        """Start the server again."""
        daemons.start_server(self.cluster)


MakeBed = Callable[..., Bed]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what starts an embedded cluster; this hook is called with the tests of all folders."""
    here = f"{Path(__file__).parent}{os.sep}"
    for item in items:
        if "make_bed" in getattr(item, "fixturenames", ()) and str(item.path).startswith(here):
            item.add_marker(pytest.mark.cluster)


@pytest.fixture(scope="module")
def make_bed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MakeBed]:
    """Return a maker of clusters; they are stopped after the module's tests."""
    beds: list[Bed] = []

    def make(nodes: int = 4, **fields: object) -> Bed:
        names = tuple(f"n{number:02}" for number in range(1, nodes + 1))
        values: dict[str, object] = {
            "nodes": names,
            "partitions": (Partition(name="main", nodes=names),),
            "node_timeout": 20.0,
            "kill_wait": 0.5,
            "requeue_delay": 0.0,
            **fields,
        }
        values["node_timeout"] = late(float(str(values["node_timeout"])))
        directory = tmp_path_factory.mktemp("cluster") / "c"
        beds.append(Bed(directory, Settings(**values)))  # type: ignore[arg-type]  # a test's own keyword arguments
        return beds[-1]

    yield make
    for bed in beds:
        daemons.stop(bed.cluster)


@pytest.fixture(scope="module")
def bed(make_bed: MakeBed) -> Bed:
    """Return a cluster of four nodes for a whole module."""
    return make_bed()
