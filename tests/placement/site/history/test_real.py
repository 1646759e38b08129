"""What a real slurmdbd and a real Flux have recorded of a node that was killed, by their own commands."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests import commands
from tests.conftest import need_flux, need_slurm
from tests.equipment.fluxbed import FluxBed
from tests.equipment.slurmbed import SlurmBed
from tests.waiting import until
from whesl.placement.site.history import model


def learn(environment: Mapping[str, str], *words: object) -> tuple[dict[str, Any], str]:
    """Run the command in an environment and return what it prints as JSON, and what it says."""
    done = commands.whesl(
        "placement", "learn", *map(str, words), "--json", env=dict(environment), timeout=100
    )
    assert done.returncode == 0, done.stderr
    about: dict[str, Any] = json.loads(done.stdout)
    return about, done.stderr


@pytest.mark.slurm
def test_slurms_accounting(slurm_bed: Callable[..., SlurmBed], tmp_path: Path) -> None:
    begun = datetime.fromtimestamp(time.time() - 3600).strftime("%Y-%m-%dT%H:%M:%S")
    need_slurm("dbd")
    bed = slurm_bed(nodes=3, dbd=True)
    job = bed.submit("#!/bin/sh\nsleep 600\n", "--no-requeue", "-w", "n02")
    bed.wait_job(job, "RUNNING")
    bed.kill_node("n02")
    # What an administrator, or SlurmdTimeout after ten seconds more, would do.
    bed.run("scontrol", "update", "nodename=n02", "state=down", "reason=killed")
    bed.wait_job(job, "NODE_FAIL")
    until(
        lambda: "DOWN" in bed.run("sacctmgr", "-nP", "show", "event", f"start={begun}").stdout,
        "event",
        60,
    )
    until(lambda: "NODE_FAIL" in bed.run("sacct", "-aDXnP", "-o", "State").stdout, "job's record", 60)
    why = commands.whesl("why", str(job), "--json", env=bed.environment, timeout=100)
    assert why.returncode == 1, why.stderr
    assert json.loads(why.stdout)["cause"]["class"] == "node-lost"
    out = tmp_path / "site.npz"
    about, _ = learn(bed.environment, "--slurm", "--since", begun, "--out", out)
    assert about["failures"] == 1
    assert "too little history (1 failures, of 20" in about["prior"]
    assert "1 failures of" in about["sources"]["sacctmgr"]
    assert about["sources"]["sacct"] == "1 jobs, 1 lost to nodes"
    found = model.load(out)
    assert found.names == ("n01", "n02", "n03")
    rows = found.risks(found.names, found.about.finish, (86400.0,), explained=0.0)
    assert max(rows, key=lambda row: row.probability).node == "n02"
    assert "n02 has been up for" in rows[1].evidence


@pytest.mark.flux
def test_fluxs_event_log(tmp_path: Path) -> None:
    need_flux()
    with FluxBed(nodes=3, configuration='[heartbeat]\nperiod = "0.1s"\n') as bed:
        bed.kill_node("n02")
        until(lambda: "offline" in bed.run("flux", "resource", "eventlog").stdout, "the event", 60)
        out = tmp_path / "site.npz"
        about, _ = learn(bed.environment, "--flux", "--out", out)
        assert about["failures"] == 1
        found = model.load(out)
        assert found.names == ("n01", "n02", "n03")
        chances = found.probability(found.names, found.about.finish, 86400.0)
        assert int(chances.argmax()) == 1


@pytest.mark.costly
def test_a_cluster_without_accounting_or_without_the_command_is_told(tmp_path: Path) -> None:
    for name in ("sinfo", "sacctmgr", "sacct"):
        path = tmp_path / name
        path.write_text("#!/bin/sh\necho 'Slurm accounting storage is disabled' >&2\nexit 1\n")
        path.chmod(0o755)
    (tmp_path / "sinfo").write_text("#!/bin/sh\necho 'n[01-04]'\n")
    for words, told in (
        (("--slurm",), "Slurm accounting storage is disabled"),
        (("--flux",), "flux is not on PATH"),
    ):
        done = commands.whesl("placement", "learn", *words, env={"PATH": str(tmp_path)})
        assert done.returncode != 0
        assert told in done.stderr
        assert "Traceback" not in done.stderr
