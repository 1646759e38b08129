"""Tasks that are handed over to another Slurm, behind a real sshd on loopback."""

from __future__ import annotations

import getpass
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import need_slurm
from tests.equipment.install_slurm import PATH
from tests.equipment.slurmbed import SlurmBed
from tests.equipment.sshd import Sshd, sshd
from tests.waiting import until

__all__ = ["sshd"]
pytestmark = [pytest.mark.slurm, pytest.mark.slow]
# Appends to a file that all copies of it share when it begins, and when it ends.
PROGRAM = """\
echo "begin $1 $SLURM_JOB_ID" >> %s/copies
trap 'echo "end $1" >> %s/copies' EXIT
echo "on $SLURMD_NODENAME"; mkdir -p out; tr a-z A-Z < in/data > out/result
while [ "$2" = wait ] && [ ! -e %s/go ]; do sleep 0.2; done
exit "${3:-0}"
"""
RULES = """\
DECLARE ENTITY JOB
DECLARE EXCEPTION_TYPE JOB_LEVEL
DECLARE RESOURCE JOB[REPLACE]
DECLARE EXCEPTION CRASH JOB_LEVEL JOB [*] LIMIT 2
EXCEPTION DETECTION CRASH EXIT CODE 9
EXCEPTION RECOVERY STEP CRASH JOB JOB.REPLACE {"attempts": [{}, {"command": [%s]}]}
"""


class Site:
    """A task's directory here, and the other cluster."""

    def __init__(self, place: Path, server: Sshd, setup: str, manager: str = "slurm") -> None:
        self.place = place
        (place / "home").mkdir(mode=0o700)
        self.work = place / "work"
        (self.work / "in").mkdir(parents=True)
        (self.work / "in" / "data").write_text("data\n")
        (self.work / "app.sh").write_text(PROGRAM % (place, place, place))
        options = ", ".join(f'"{option}"' for option in server.options)
        (place / "home" / "clusters.toml").write_text(
            "[other]\n"
            f'store = "ssh://{getpass.getuser()}@127.0.0.1:{server.port}{place}/there"\n'
            f"ssh_options = [{options}]\n"
            f'manager = "{manager}"\n'
            f'setup = "export {setup}"\n'
            "poll = 0.5\nlease = 20\npatience = 5\n"
        )
        self.environment = {**os.environ, "WHESL_HOME": str(place / "home")}

    def command(self, *words: str) -> list[str]:
        options = ["--input", "app.sh", "--input", "in", "--key", "task"]
        return [sys.executable, "-m", "whesl", "cloud", "handover", *options, "other", "sh", "app.sh", *words]

    def start(self, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.command(*words),
            cwd=self.work,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def copies(self) -> list[str]:
        file = self.place / "copies"
        return [line.rsplit(" ", 1)[0] if "begin" in line else line for line in file.read_text().splitlines()]

    def begun(self, word: str) -> None:
        until(lambda: (self.place / "copies").exists() and f"begin {word}" in self.copies(), "it begins", 60)


@pytest.fixture(scope="module")
def bed() -> Iterator[SlurmBed]:
    need_slurm()
    with SlurmBed(2) as made:
        yield made


@pytest.fixture
def site(tmp_path: Path, sshd: Sshd, bed: SlurmBed) -> Site:
    return Site(tmp_path, sshd, f"SLURM_CONF={bed.conf} PATH={PATH}")


def jobs(bed: SlurmBed) -> list[str]:
    return str(bed.run("squeue", "-h", "-t", "pending,running", "-o", "%j").stdout).split()


def test_the_third_attempt_runs_on_the_other_cluster(site: Site) -> None:
    """The task's rules see its output and status, its files are where they were expected."""
    words = ", ".join(f'"{word}"' for word in site.command("there"))
    (site.work / "rules.esl").write_text(RULES % words)
    done = subprocess.run(
        [sys.executable, "-m", "whesl", "exec", "-e", "rules.esl", "--", "sh", "app.sh", "here", "now", "9"],
        cwd=site.work,
        env=site.environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert site.copies() == ["begin here", "end here", "begin here", "end here", "begin there", "end there"]
    assert "on n0" in done.stdout
    assert (site.work / "out" / "result").read_text() == "DATA\n"
    assert "ended with status 0" in done.stderr and "1 files brought back" in done.stderr
    assert not list((site.place / "there").iterdir())
    told = subprocess.run(
        [sys.executable, "-m", "whesl", "report"],
        env=site.environment,
        capture_output=True,
        text=True,
        check=True,
    )
    line = re.search(r"attempt 3 ran as job \d+ on other: status 0 after .*", " ".join(told.stdout.split()))
    assert line and "1 file brought back; 1 node here waited" in line[0], told.stdout


@pytest.mark.variant
def test_a_status_comes_back_and_a_signal_ends_the_job(site: Site, bed: SlurmBed) -> None:
    failing = site.start("first", "now", "7")
    _, said = failing.communicate(timeout=60)
    assert failing.returncode == 7, said
    stopped = site.start("second", "wait")
    site.begun("second")
    stopped.send_signal(signal.SIGTERM)
    _, said = stopped.communicate(timeout=60)
    assert stopped.returncode == 128 + signal.SIGTERM, said
    assert not jobs(bed)


@pytest.mark.variant
def test_never_two_copies_after_a_kill(site: Site, bed: SlurmBed) -> None:
    """The process that waits here is killed: the next attempt first ends what it had left running."""
    killed = site.start("first", "wait")
    site.begun("first")
    os.killpg(killed.pid, signal.SIGKILL)
    killed.wait()
    (first,) = jobs(bed)
    again = site.start("second", "wait")
    site.begun("second")
    assert jobs(bed) != [first] and len(jobs(bed)) == 1
    (site.place / "go").touch()
    _, said = again.communicate(timeout=60)
    assert again.returncode == 0, said
    assert "an earlier run on other is ended first" in said


@pytest.mark.variant
def test_a_run_without_an_owner_ends_itself(site: Site, bed: SlurmBed) -> None:
    killed = site.start("first", "wait")
    site.begun("first")
    os.killpg(killed.pid, signal.SIGKILL)
    killed.wait()
    assert jobs(bed)
    until(lambda: not jobs(bed), "its lease is over", 60)


@pytest.mark.variant
def test_nothing_starts_while_it_is_not_known_whether_the_earlier_run_is_over(
    site: Site,
    sshd: Sshd,
) -> None:
    killed = site.start("first", "wait")
    site.begun("first")
    os.killpg(killed.pid, signal.SIGKILL)
    killed.wait()
    sshd.stop()
    try:
        again = site.start("second", "now")
        _, said = again.communicate(timeout=60)
    finally:
        sshd.start()
    assert again.returncode == 1 and "did not answer for 5 s" in said
    assert site.copies() == ["begin first"]
