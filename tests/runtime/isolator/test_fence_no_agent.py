"""A node that lives without an agent: both halves were killed, and none can be started there for a while.

Nobody holds its lease any more. That it is silent for longer says nothing of what runs there. Slurm loses the
daemon that runs in these tests; the embedded manager and Flux end it, and cannot be asked whether they did.
"""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from tests import shedding
from tests.equipment.fluxbed import FluxBed
from tests.equipment.slurmbed import SlurmBed
from tests.processes import send, variable, words
from tests.runtime.isolator.test_fence_flux import SCRIPT
from tests.runtime.isolator.test_fence_slurm import Shedding
from tests.runtime.isolator.test_flux import NODELOST, Protected, bed
from tests.runtime.isolator.test_nodes import Cluster, cluster, until
from whesl.runtime.isolator.task.taskdir import TaskDir
from whesl.testing.processes import running

__all__ = ["bed", "cluster"]  # fixtures

pytestmark = pytest.mark.slow


@contextmanager
def without_an_agent(directory: TaskDir, node: str) -> Iterator[None]:
    """Kill a node's agent, and have none started without the file that each begins with."""
    hidden = directory.link.with_suffix(".hidden")
    directory.link.rename(hidden)

    def halves() -> list[psutil.Process]:
        return [
            process
            for process in running()
            if "whesl.runtime.node_agent.agent" in (line := words(process))
            and str(directory.link) in line
            and node in (variable(process, "WHESL_NODE"), variable(process, "SLURMD_NODENAME"))
        ]

    for half in until(lambda: len(found := halves()) == 2 and found, "both halves of the agent"):
        send(half, signal.SIGKILL)
    yield
    hidden.rename(directory.link)


@pytest.mark.slurm
def test_on_slurm(slurm_bed: Callable[..., SlurmBed], tmp_path: Path) -> None:
    made = Shedding(slurm_bed(nodes=4), tmp_path, "daemon")
    made.begun()
    with without_an_agent(made.directory, "n02"):
        made.wait(lambda: "unfenced" in made.kinds(), "that the attempt is not called fenced")
        before = made.beats("n02")
        made.wait(lambda: made.beats("n02") > before + 2, "that the old rank lives")
        assert "attempt 1 on" not in made.text()
    assert "n02" in made.record("unfenced")["reason"]
    made.nothing_lives(made.recovered())
    made.end()


def test_on_the_embedded_manager(cluster: Cluster) -> None:
    program = f"{sys.executable} {shedding.__file__} daemon alive-$SLURMD_NODENAME"
    cluster.submit(
        f"cd {cluster.place}\nif [ $WHESL_RESTART_COUNT = 0 ]; then srun bash -c 'exec {program}'\n"
        """else srun bash -c 'echo "rank on $SLURMD_NODENAME"; until [ -e done ]; do sleep 0.05; done'; fi"""
    )
    old = cluster.place / "alive-n02"
    until(old.exists, "the rank")
    cluster.agents_up()
    with without_an_agent(cluster.directory, "n02"):
        until(lambda: "unfenced" in cluster.kinds(), "that the attempt is not called fenced")
        assert "rank on" not in cluster.text()
    until(lambda: cluster.text().count("rank on") == 2, "the ranks of the next attempt")
    living = old.stat().st_size
    time.sleep(1.0)
    assert old.stat().st_size == living, "a rank of the old attempt lives on"
    (cluster.place / "done").touch()
    until(lambda: "status 0" in cluster.text(), "the end")


@pytest.mark.flux
def test_on_flux(bed: FluxBed, tmp_path: Path) -> None:
    made = Protected(bed, tmp_path, NODELOST, script=SCRIPT.replace("KIND", "daemon"))

    def old() -> list[Path]:
        return [file for file in tmp_path.glob("alive-n0?") if file.stat().st_size > 2]

    made.until(lambda: len(old()) == 2, "both ranks")
    made.until(lambda: made.kinds().count("agent") == 2, "the agents")
    alive = max(old())
    with without_an_agent(made.directory, alive.name.removeprefix("alive-")):
        made.until(lambda: "unfenced" in made.kinds(), "that the attempt is not called fenced")
        assert "attempt 1 on" not in made.text()
    made.running(1, 2)
    living = alive.stat().st_size
    time.sleep(1.0)
    assert alive.stat().st_size == living, "a rank of the old attempt lives on"
    made.finish()
