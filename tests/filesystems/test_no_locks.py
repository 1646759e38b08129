"""A home without locks, and one with locks of each host for itself: what runs, and that it runs once."""

from __future__ import annotations

import errno
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.alike import alike
from tests.conftest import need_slurm
from tests.equipment.nfsbed import NfsBed
from tests.equipment.slurmbed import SlurmBed
from tests.waiting import until
from whesl.runtime.isolator.task.taskdir import TaskDir
from whesl.runtime.journal.store import Journal

Maker = Callable[..., NfsBed]
EXEC = (sys.executable, "-m", "whesl", "exec")


@pytest.fixture(params=alike(["without", "local"]))
def home(request: pytest.FixtureRequest, nfs_bed: Maker) -> Path:
    """A home on one host's mount."""
    local = request.param == "local"
    bed = nfs_bed("login", local=("login",) if local else ())
    if not local:
        bed.change("login", flock_error=errno.ENOSYS, fcntl_error=errno.ENOLCK)
    place = bed.at("login") / "home"
    place.mkdir(mode=0o700)
    return place


def whesl(home: Path, *words: str, **options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "whesl", *words],
        cwd=home.parent,
        env={**os.environ, "WHESL_HOME": str(home), **options},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


RULES = """\
DECLARE ENTITY JOB
DECLARE EXCEPTION_TYPE JOB_LEVEL
DECLARE RESOURCE JOB[REPLACE]
DECLARE EXCEPTION CALLED JOB_LEVEL JOB [app]
EXCEPTION DETECTION CALLED MATCH "^called" stdout
EXCEPTION RECOVERY STEP CALLED JOB JOB.REPLACE
"""


@pytest.mark.costly
def test_a_task_runs_and_recovers(home: Path, tmp_path: Path) -> None:
    """It had said seven times that another isolator holds the lock, and ended with 70."""
    rules = tmp_path / "rules.esl"
    rules.write_text(RULES)
    program = 'if [ "$WHESL_RESTART_COUNT" = 0 ]; then echo called; sleep 600; fi; echo fine'
    done = whesl(home, "exec", "--name", "app", "-e", str(rules), "--", "sh", "-c", program)
    assert (done.returncode, done.stdout.split()) == (0, ["called", "fine"]), done.stderr
    task = next((home / "tasks").glob("*/app"))
    with Journal(task / "journal.db", read_only=True) as journal:
        assert "confirmed" in [record.kind for record in journal.read()]
    assert TaskDir(task).owner() is None


@pytest.mark.costly
def test_a_workflow_runs(home: Path, tmp_path: Path) -> None:
    """It had shown a traceback."""
    (tmp_path / "rules.esl").write_text(RULES)
    (tmp_path / "app.sh").write_text("#!/bin/sh\necho fine\n")
    told = whesl(home, "run", "--rjms", "local", "-e", f"{tmp_path}/rules.esl", f"{tmp_path}/app.sh")
    try:
        assert told.returncode == 0, told.stderr
        assert "1 of 1 task completed" in told.stdout
    finally:
        whesl(home, "coordinator", "stop")


@pytest.mark.costly
def test_the_coordinator_runs_once(home: Path) -> None:
    try:
        assert whesl(home, "coordinator", "start").returncode == 0
        second = whesl(home, "coordinator", "start", "--foreground")
        assert second.returncode == 3 and "another coordinator has" in second.stderr
    finally:
        assert "has ended" in whesl(home, "coordinator", "stop").stdout


@pytest.mark.costly
def test_a_killed_isolator_is_followed_by_another(home: Path, tmp_path: Path) -> None:
    done = tmp_path / "done"
    keeper = subprocess.Popen(
        [*EXEC, "--name", "app", "--", "sh", "-c", f"while [ ! -e {done} ]; do sleep 0.05; done"],
        env={**os.environ, "WHESL_HOME": str(home)},
    )
    tasks = home / "tasks"
    directory = until(lambda: next(tasks.glob("*/app/journal.db"), None), "the task", 60)
    task = TaskDir(directory.parent)
    first = until(task.owner, "its owner", 60)
    os.kill(first.pid, 9)

    def next_owner() -> bool:
        owner = task.owner()
        return owner is not None and owner.pid != first.pid

    until(next_owner, "the next one", 60)
    done.touch()
    assert keeper.wait(60) == 0


@pytest.mark.slurm
@pytest.mark.slow
@pytest.mark.parametrize("how", alike(["without", "local"]))
def test_two_jobs_with_one_task_run_it_once(
    nfs_bed: Maker, slurm_bed: Callable[..., SlurmBed], tmp_path: Path, how: str
) -> None:
    """Nothing but the owner's record says on one host that the other one runs the task."""
    need_slurm()
    hosts = ("login", "n01", "n02")
    nfs = nfs_bed(*hosts, local=hosts if how == "local" else ())
    if how == "without":
        for host in hosts:
            nfs.change(host, flock_error=errno.ENOSYS, fcntl_error=errno.ENOLCK)
    slurm = slurm_bed(2)
    home = tmp_path / "home"
    home.mkdir()
    nfs.place("login", home)
    for node in slurm.nodes:
        nfs.place(node, home, slurm.init(node))
    (home / "whesl").mkdir(mode=0o700)
    done, runs = tmp_path / "done", tmp_path / "runs"
    program = f"echo run >> {runs}; while [ ! -e {done} ]; do sleep 0.05; done"
    command = [*EXEC, "--workflow", "wf", "--step", "app", "--no-coordinator"]
    script = (
        f"#!/bin/bash\nexport WHESL_HOME={home}/whesl\ncd {tmp_path}\n"
        f"{shlex.join([*command, '--', 'sh', '-c', program])}\n"
        f"echo $? > {tmp_path}/status-$(hostname)\n"
    )
    for node in slurm.nodes:
        slurm.submit(script, "-N1", "-w", node, f"--output={tmp_path}/out-{node}")
    statuses = [tmp_path / f"status-{node}" for node in slurm.nodes]
    slurm.wait_for(lambda: any(file.exists() and file.read_text() for file in statuses), "one is refused")
    assert [file.read_text().strip() for file in statuses if file.exists()] == ["75"]
    done.touch()
    slurm.wait_for(lambda: all(file.exists() and file.read_text() for file in statuses), "both ends")
    assert sorted(file.read_text().strip() for file in statuses) == ["0", "75"]
    assert runs.read_text() == "run\n"
    assert json.loads((home / "whesl/tasks/wf/app/result.json").read_text())["code"] == 0
