"""The placement service on a real Slurm: what it does is seen, and is gone when it leaves or was killed."""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.equipment.slurmbed import SlurmBed
from tests.placement.site.history.test_learning import site as alike
from tests.placement.site.slurmsite import Site
from whesl.cli.placement.serve import serve
from whesl.cli.placement.show import status
from whesl.model.errors import CouldNotObserveError, RefusedError
from whesl.placement.site.history import model, model_selection
from whesl.placement.site.history.site_history import SiteHistory
from whesl.placement.site.publish.core.node_changes import Settings
from whesl.placement.site.publish.observed_node import Node
from whesl.placement.site.slurm.node_and_job_updates import Cluster, Machine
from whesl.placement.site.slurm.placement_service import LOOKUP, TABLE, Service
from whesl.placement.site.slurm.plugin_installation import SHARED
from whesl.placement.site.slurm.prediction_sources import Sources
from whesl.prediction.failures import failure_precursors


def service(directory: Path, *, active: bool) -> Service:
    """Return a service of a Slurm that does not answer."""
    cluster = Cluster({"PATH": str(directory)})
    return Service(
        directory, cluster, Sources(None, None), Settings(active=active), period=1.0, clock=time.time
    )


@pytest.mark.parametrize("active", [True, False])
def test_a_service_that_observes_withdraws_what_a_killed_one_published(tmp_path: Path, active: bool) -> None:
    """Before anything else: the table of one that acted is in force until it expires."""
    directory = tmp_path / "placement"
    directory.mkdir(mode=0o750)
    for name in (LOOKUP, TABLE):
        (directory / name).write_text("of a killed service")
    with service(directory, active=active) as begun:
        assert not begun.look()
        assert (directory / LOOKUP).exists() == (directory / TABLE).exists() == active


def test_predictions_that_cannot_be_read_are_told_before_a_slurm_that_does_not_answer(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Slurm's error alone was told, until Slurm answered."""
    directory = tmp_path / "placement"
    directory.mkdir(mode=0o750)
    assert "no service has written a status" in shown(directory)
    cluster, sources = Cluster({"PATH": str(directory)}), Sources(tmp_path / "none", tmp_path)
    with Service(directory, cluster, sources, Settings(), period=1.0, clock=time.time) as begun:
        assert not begun.look()
        assert not begun.look()
    first, second = (
        caplog.text.index(text) for text in (f"cannot read {tmp_path}/none", "look at the nodes")
    )
    assert first < second
    assert caplog.text.count(f"cannot read {tmp_path}/none") == 1  # not at each look
    (trouble,) = (line for line in shown(directory).splitlines() if line.startswith("trouble: "))
    assert trouble.index(f"cannot read {tmp_path}/none") < trouble.index("could not look at the nodes")
    assert "observes: process" in shown(directory)


def test_a_share_that_is_less_than_a_node_is_told_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """With --share 0.05 a partition of less than 20 nodes was left alone, and nothing said so."""
    begun = Service(
        tmp_path, Cluster({}), Sources(None, None), Settings(share=0.05), period=1.0, clock=time.time
    )
    nodes = [
        Node(name=f"n{at}", flags=frozenset({"idle"}), partitions=("all", "few") if at < 19 else ("all",))
        for at in range(20)
    ]
    for _ in range(2):
        begun._tell_of_small_partitions(Machine(tuple(nodes), "all"))
    assert (
        caplog.text.count("no node of few is drained or left out") == 1
        and "all" not in caplog.text.split("]")[0]
    )


def shown(directory: Path) -> str:
    """Return what ``whesl placement status`` says."""
    try:
        return CliRunner().invoke(status, ["--dir", str(directory)], catch_exceptions=False).output
    except CouldNotObserveError as error:
        return f"{error.message}\n{error.hint}"


@pytest.mark.parametrize("option", ["--share=nan", "--period=inf", "--settle=nan", "--wait-for-better=nan"])
def test_an_option_that_is_no_number_is_refused(tmp_path: Path, option: str) -> None:
    """One ended in a traceback, others in a service that published nothing."""
    told = ["--dir", str(tmp_path), "--predictions", str(tmp_path / "none"), option, "--once"]
    refused = CliRunner().invoke(serve, told, catch_exceptions=False)
    assert refused.exit_code == 2
    assert re.search(r"no (finite )?number", refused.output)


def test_a_second_service_does_not_act_beside_the_one_that_the_plugin_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each took the other's weights for an administrator's, and one of them stayed."""
    monkeypatch.setenv("SLURM_CONF", str(tmp_path / "slurm.conf"))
    (tmp_path / SHARED).write_text(f'local M = {{\n   path = "{tmp_path}/first/slurm.table",\n}}\n')
    told = ["--dir", str(tmp_path / "second"), "--predictions", str(tmp_path / "none"), "--active", "--once"]
    with pytest.raises(RefusedError, match=f"the table in {tmp_path}/first"):
        CliRunner().invoke(serve, told, catch_exceptions=False)


@pytest.fixture
def site(slurm_bed: Callable[..., SlurmBed], tmp_path: Path) -> Site:
    """A cluster of six nodes whose service may take a third of them."""
    return Site(slurm_bed(nodes=6, mode="host"), tmp_path / "placement")


@pytest.mark.slurm
def test_it_acts_is_killed_goes_on_and_leaves_nothing(site: Site) -> None:
    site.predict("n02")
    nodes = site.bed.nodes
    site.bed.run("scontrol", "update", "nodename=n05", "state=drain", "reason=disk")
    share = ("--active", "--share", "0.34")
    with site.service(*share) as first:
        site.wait("n02", state="drain", weight="3001", features="whesl_at_risk", reason="whesl: predicted")
        site.predict("n02", "n05", "n01", "n03")
        site.wait("n03", features="whesl_at_risk")
        first.kill()
        first.wait()
        # slurmctld forgets weights and features when it starts again; drains stay.
        site.bed.end_controller()
        site.bed.restart_controller()
        site.bed.wait_for(lambda: "idle" in site.node("n06")["state"], "slurmctld answers")
        assert site.node("n03")["weight"] == "1"
        with site.service(*share):
            site.wait("n03", weight="3001", features="whesl_at_risk")
            drained = [node for node in nodes if "drain" in site.node(node)["state"]]
            assert "n02" in drained
            assert len(set(drained) - {"n05"}) == 1  # a third of the five that are usable or held
            assert site.node("n05") == {
                "state": "idle+drain",
                "weight": "1",
                "features": "(null)",
                "reason": "disk",
            }
    site.await_untouched("n01", "n02", "n03", "n04", "n06")
    assert site.node("n05")["reason"] == "disk"


@pytest.mark.slurm
def test_what_a_killed_service_left_is_undone_by_hand(site: Site) -> None:
    site.predict("n02")
    with site.service("--active", "--share", "0.34") as service:
        site.wait("n02", state="drain", features="whesl_at_risk")
        refused = site.whesl("undo", "--dir", str(site.directory))
        assert refused.returncode == 75, refused.stderr
        service.kill()
        service.wait()
        result = site.whesl("undo", "--dir", str(site.directory))
        assert result.returncode == 0, result.stderr
        site.await_untouched("n02")
        assert site.status().leaving


@pytest.mark.slurm
def test_observing_changes_nothing_and_says_what_it_would(site: Site) -> None:
    site.predict("n02")
    with site.service("--share", "0.34"):
        site.until(site.would, "it says what it would do")
        site.await_untouched(*site.bed.nodes)
        assert site.whesl("status", "--dir", str(site.directory)).returncode == 0
        shown = site.whesl("table", "--dir", str(site.directory))
        assert "n02" in shown.stdout
        assert shown.returncode == 0
    kinds = sqlite3.connect(site.directory / "journal.db").execute("SELECT kind FROM journal").fetchall()
    assert {kind for (kind,) in kinds} == {"would", "would-not"}
    assert "it has ended" in site.whesl("status", "--dir", str(site.directory)).stdout


@pytest.mark.slurm
def test_an_administrator_has_the_last_say(site: Site) -> None:
    site.predict("n02", "n03")
    with site.service("--active", "--share", "0.5"):
        site.wait("n02", state="drain", features="whesl_at_risk")
        site.wait("n03", state="drain")
        site.until(lambda: site.log().count("drain is in force") == 2, "both drains are in force")
        site.bed.run("scontrol", "update", "nodename=n02", "state=resume")
        site.bed.run("scontrol", "update", "nodename=n03", "state=drain", "reason=mine now")
        site.until(lambda: all(one[1] != "drain" for one in site.status().held), "no drain is held")
        assert "drain" not in site.node("n02")["state"]
    assert site.node("n03")["reason"] == "mine now"
    assert site.node("n02")["state"].startswith("idle")  # Slurm may not have heard of it yet


@pytest.mark.slurm
def test_nodes_that_are_alike_are_left_alone_and_so_are_jobs(site: Site) -> None:
    """All were at risk from a day on: each got weight and feature, and each long job the same list."""
    history = replace(alike(nodes=6, days=300.0, bad=0, usual=40.0), names=tuple(site.bed.nodes))
    found = SiteHistory(history, failure_precursors.signs([]), {}, [])
    made, _ = model_selection.learn(found, 1.0, asked=("base",))
    model.save(made, site.directory.parent / "site.npz")
    site.predict()
    job = site.bed.submit("true", "-H")
    options = (
        "--active",
        "--despite",
        "too-little",
        "--share",
        "0.5",
        "--model",
        str(site.directory.parent / "site.npz"),
    )
    with site.service(*options, "--horizons", "3600,86400,604800"):
        site.until((site.directory / TABLE).exists, "a table")
        looks = site.status().time
        site.until(lambda: site.status().time > looks + 1.0, "some looks more")
        status = site.status()
        assert (status.at_risk, status.held, status.problem) == (0, (), "")
        assert status.source == "survival(exponential)" and status.nodes == 6
        site.await_untouched(*site.bed.nodes)
        assert site.bed.job(job, "%x").strip() == ""
        assert "0 of 6 nodes" in site.whesl("table", "--dir", str(site.directory)).stdout
    site.bed.run("scancel", job)


@pytest.mark.slurm
def test_a_job_of_the_whole_machine_does_not_wait_for_a_drain(site: Site) -> None:
    """It waited behind the drain, as long as that lasted."""
    site.predict("n02")
    with site.service("--active", "--share", "0.34"):
        site.wait("n02", state="drain")
        held = site.bed.submit("true", "-N6", "-H")
        job = site.bed.submit("srun true", "-N6")
        site.bed.wait_job(job, "COMPLETED")
        site.wait("n02", state="drain")  # the job that is held does not count
        site.bed.run("scancel", held)
    site.await_untouched("n02")
