"""The embedded manager with predictions: jobs take the nodes of least risk."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests import commands
from whesl.files import file_retry
from whesl.placement.site.flux.prediction_source import Source
from whesl.placement.site.local_cluster_placement import Ranks
from whesl.placement.site.publish import risk_table
from whesl.prediction.failures.given_accuracy_predictors import Given

NAMES = ("n01", "n02", "n03", "n04")
Whesl = Callable[..., subprocess.CompletedProcess[str]]


def publish(path: Path, *failing: str) -> None:
    """Publish a table in which these nodes fail within the hour."""
    now = time.time()
    times = [now + 1800.0] * len(failing)
    predictor = Given("given", 4, [NAMES.index(node) for node in failing], times)
    file_retry.replace(path, risk_table.encode(risk_table.make(predictor, NAMES, now, valid_for=3600.0)))


@pytest.fixture
def whesl(tmp_path: Path) -> Iterator[Whesl]:
    """A caller of whesl with clusters of its own, and of commands on them; they end with the test."""
    environment = {**os.environ, "WHESL_HOME": str(tmp_path / "home")}

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        return commands.whesl(*command, env=environment)

    yield run
    run("local", "stop")


@pytest.mark.costly
def test_jobs_of_a_local_cluster_take_the_nodes_of_least_risk(whesl: Whesl, tmp_path: Path) -> None:
    path = tmp_path / "table.json"
    publish(path, "n01", "n03")
    started = whesl("local", "start", "--nodes", "4", "--placement", str(path))
    assert started.returncode == 0, started.stderr
    setup = whesl("local", "env").stdout

    def nodes(*options: str) -> str:
        command = f'{setup}\nsrun "$@" --time=120 printenv SLURM_JOB_NODELIST | sort -u'
        done = subprocess.run(
            ["sh", "-c", command, "sh", *options], capture_output=True, text=True, check=False, timeout=60
        )
        return done.stdout.strip() or done.stderr

    assert nodes("-N2") == "n[02,04]"
    assert nodes("-N1", "-w", "n03") == "n03"
    assert nodes("-N3") == "n[01-02,04]"
    publish(path, "n02", "n04")
    time.sleep(1.1)  # an order holds for a second
    assert nodes("-N2") == "n[01,03]"


def test_what_is_no_prediction_starts_nothing(whesl: Whesl, tmp_path: Path) -> None:
    path = tmp_path / "table.json"
    path.write_text("{}")
    started = whesl("local", "start", "--placement", str(path))
    assert started.returncode != 0
    assert f"--placement {path}: the placement table cannot be read" in started.stderr
    assert "Traceback" not in started.stderr


def test_an_expired_table_leaves_the_nodes_in_their_order(tmp_path: Path) -> None:
    path = tmp_path / "table.json"
    publish(path, "n01")
    now = time.time()
    ranks = Ranks(Source(path, clock=lambda: now))
    assert ranks(now, NAMES, 7200.0)[-1] == "n01"
    late = Ranks(Source(path, clock=lambda: now + 7200.0))
    assert late(now + 7200.0, NAMES, 7200.0) == NAMES
