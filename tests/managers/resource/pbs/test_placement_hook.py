"""Placement's hook on a real PBS: jobs leave nodes at risk out, and nothing in the hook's way stops a job."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.equipment.pbsbed import PbsBed
from tests.placement.site.flux.tables import publish
from whesl.doctor import placement as doctor
from whesl.placement.site.pbs import hook_installation
from whesl.placement.site.publish import risk_table

WHESL = Path(sys.executable).with_name("whesl")
RESOURCES = [f"whesl_fit_{seconds:.0f}" for seconds in risk_table.HORIZONS]
SHORT = ("-l", "walltime=00:20:00", "-l", "place=scatter")

pytestmark = [pytest.mark.pbs, pytest.mark.xdist_group("pbs"), pytest.mark.slow]


@pytest.fixture(scope="module")
def table(bed: PbsBed) -> Iterator[Path]:
    """The predictions of the installed hook, by which n02 fails; afterwards nothing is left of the hook."""
    file = publish(bed.directory / "table.json", {"n01": 0.01, "n02": 0.9, "n03": 0.01})
    install(bed, file)
    bed.run("qmgr", "-c", f"set hook {hook_installation.HOOK} freq=2")
    yield file
    ended = bed.run("qselect", "-x").stdout.split()
    bed.run("qdel", "-x", "-W", "force", *ended)
    assert "qmgr: delete hook" in whesl(bed, "placement", "remove", "--pbs", "--yes")
    left = bed.run("qmgr", "-c", "list resource").stdout + bed.run("pbsnodes", "-a").stdout
    assert "whesl" not in left
    assert not list((bed.directory / "server").glob("server_priv/**/whesl*"))


def whesl(bed: PbsBed, *words: str) -> str:
    done = subprocess.run([WHESL, *words], env=bed.outside, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def install(bed: PbsBed, file: Path, *options: str) -> str:
    act = ("--act", "--share", "0.4")
    return whesl(bed, "placement", "install", "--pbs", str(file), "--yes", *(options or act))


def unfit(bed: PbsBed) -> list[str]:
    nodes = json.loads(bed.run("pbsnodes", "-a", "-v", "-F", "json").stdout)["nodes"]
    return [name for name, its in nodes.items() if its["resources_available"].get(RESOURCES[0]) == "False"]


def chosen(bed: PbsBed, file: Path) -> None:
    """Wait until the hook has left n02 out by the predictions in a file."""
    publish(file, {"n01": 0.01, "n02": 0.9, "n03": 0.01})
    bed.wait_for(lambda: unfit(bed) == ["n02"], "n02 is left out")


def run(bed: PbsBed, *options: str) -> dict[str, object]:
    """Run a job to its end; return what PBS tells of it."""
    job = bed.submit("env > $HOME/.none 2>/dev/null; true", *options)
    bed.wait_for(lambda: bed.job(job).get("job_state") == "F", f"job {job} is over")
    return bed.job(job)


def test_jobs_leave_out_the_node_that_fails(bed: PbsBed, table: Path) -> None:
    chosen(bed, table)
    job = run(bed, "-l", "select=2:ncpus=1", *SHORT)
    assert job["Resource_List"]["select"] == "2:ncpus=1:whesl_fit_1800=True"  # type: ignore[index]
    assert "n02" not in str(job["exec_vnode"])
    assert job["Exit_status"] == 0
    # A job that needs the node, one that names a host, and one that does not want it stay as they are.
    for options in (("select=3:ncpus=1",), ("select=1:ncpus=1:host=n02",), ("ncpus=1",)):
        told = run(bed, "-l", *options, *SHORT[:2])
        assert "whesl" not in json.dumps(told["Resource_List"]), told
    told = run(bed, "-l", "select=1:ncpus=1", "-v", "WHESL_PLACEMENT=off")
    assert "whesl" not in json.dumps(told["Resource_List"])


def test_a_job_on_a_node_knows_the_table(bed: PbsBed, table: Path, tmp_path: Path) -> None:
    """The table is that of NODE.REPLACE, which takes the spare that is least likely to fail."""
    said = tmp_path / "said"
    job = bed.submit(f"printf %s $WHESL_PLACEMENT > {said}", "-l", "select=1:ncpus=1")
    bed.wait_for(lambda: bed.job(job).get("job_state") == "F", f"job {job} is over")
    assert said.read_text() == str(table)


def test_installed_twice_it_changes_nothing(
    bed: PbsBed, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert install(bed, table) == "nothing to change: the hook is installed\n"
    chosen(bed, table)
    for name, value in bed.outside.items():
        monkeypatch.setenv(name, value)
    (found,) = doctor.pbs()
    assert found.detail.startswith("installed; 8 of 24"), found


@pytest.mark.parametrize("what", ["missing", "noise", "expired", "pipe", "directory"])
def test_a_hostile_table_never_stops_a_job(bed: PbsBed, table: Path, what: str) -> None:
    chosen(bed, table)
    table.unlink()
    if what == "noise":
        table.write_bytes(os.urandom(4096))
    elif what == "expired":
        publish(table, {"n01": 0.9}, valid_for=-1.0)
    elif what == "pipe":
        os.mkfifo(table)
    elif what == "directory":
        table.mkdir()
    try:
        bed.wait_for(lambda: not unfit(bed), "no node is left out")
        told = run(bed, "-l", "select=3:ncpus=1", *SHORT)
        assert told["Resource_List"]["select"] == "3:ncpus=1"  # type: ignore[index]
        assert told["Exit_status"] == 0
    finally:
        table.rmdir() if what == "directory" else table.unlink(missing_ok=True)


def test_a_job_waits_for_no_node_at_risk_in_vain(bed: PbsBed, table: Path) -> None:
    """The jobs wait, nodes are lost meanwhile, and then n02 is needed."""
    chosen(bed, table)
    busy = [bed.submit("sleep 600", "-l", f"select=1:ncpus=4:host={node}") for node in ("n01", "n03")]
    bed.wait_for(lambda: all(bed.job(job)["job_state"] == "R" for job in busy), "the nodes are taken")
    job = bed.submit("true", "-l", "select=2:ncpus=4", *SHORT)
    time.sleep(3)  # the scheduler has looked at the job meanwhile
    assert bed.job(job)["job_state"] == "Q"
    bed.run("qmgr", "-c", "set node n03 state += offline")
    try:
        bed.delete(busy[0])
        bed.wait_for(lambda: bed.job(job).get("job_state") == "F", "n02 is taken after all", 60.0)
        assert "n02" in bed.job(job)["exec_vnode"]
    finally:
        bed.run("qmgr", "-c", "set node n03 state -= offline")
        bed.delete(busy[1])


def test_what_waits_is_freed_by_the_removal(bed: PbsBed, table: Path) -> None:
    chosen(bed, table)
    job = bed.submit("true", "-h", "-l", "select=1:ncpus=1", *SHORT)
    assert "whesl_fit" in bed.job(job)["Resource_List"]["select"]
    kept = whesl(bed, "placement", "remove", "--pbs", "--yes")
    assert bed.job(job)["Resource_List"]["select"] == "1:ncpus=1"
    assert "PBS keeps whesl_fit_1800" in kept
    bed.run("qdel", "-x", "-W", "force", job)
    install(bed, table)
    bed.run("qmgr", "-c", f"set hook {hook_installation.HOOK} freq=2")
