"""A batch host dies or is cut off, and its locks are kept: real Slurm, a home on several hosts."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import need_slurm
from tests.equipment.nfsbed import NfsBed
from tests.equipment.slurmbed import SlurmBed
from tests.waiting import HOLD_LIFTED
from whesl.runtime.isolator.task.taskdir import TaskDir

pytestmark = [pytest.mark.slurm, pytest.mark.slow]

PROGRAM = """\
#!/bin/bash
echo "begun on $(hostname)"
for i in $(seq 6000); do [ -e {done} ] && exit 0; echo x >> {place}/alive-$(hostname); sleep 0.05; done
exit 1
"""


class Site:
    """A cluster whose login node and nodes share a home, and one job on the first node."""

    def __init__(self, nfs: NfsBed, slurm: SlurmBed, place: Path) -> None:
        self.nfs, self.slurm, self.place = nfs, slurm, place
        home = place / "home"
        home.mkdir()
        nfs.place("login", home)
        for node in slurm.nodes:
            nfs.place(node, home, slurm.init(node))
        self.out = place / "out"  # besides the home: the nodes' own kernel writes it at once
        self.done = place / "done"
        self.task = TaskDir(home / "whesl" / "task")
        self.task.path.parent.mkdir(mode=0o700)
        command = [sys.executable, "-m", "whesl", "exec", "--workflow", "wf", "--step", "app"]
        command += ["--no-coordinator", "--task-dir", str(self.task.path), "--script", "-"]
        program = PROGRAM.format(place=place, done=self.done)
        self.job = slurm.submit(
            f"#!/bin/bash\nexport WHESL_HOME={self.task.path.parent}\n"
            f"{shlex.join(command)} <<'EOT'\n{program}EOT\necho status $? on $(hostname)\n",
            *("-N1", "-w", "n01", "--requeue", "--open-mode=append", f"--output={self.out}"),
        )
        self.wait(lambda: "begun on n01" in self.text(), "the program")
        self.wait(lambda: self.owner_host() == "n01", "the lock's owner")

    def text(self) -> str:
        return self.out.read_text(errors="replace") if self.out.exists() else ""

    def owner_host(self) -> str:
        owner = self.task.owner()
        return owner.host if owner is not None else ""

    def wait(self, condition: Callable[[], object], what: str, timeout: float = 90.0) -> None:
        try:
            self.slurm.wait_for(condition, what, timeout)
        except BaseException:
            log = self.task.log
            print(self.text(), log.read_text() if log.exists() else "no log", sep="\n")
            raise

    def run_again_elsewhere(self) -> None:
        """Let Slurm find the first node down, and run the job again on the second one at once."""
        self.wait(lambda: self.slurm.job(self.job) == "PENDING", "the job's return to the queue")
        for change in ("ReqNodeList=n02", HOLD_LIFTED):
            self.slurm.run("scontrol", "update", f"jobid={self.job}", change)

    def size(self, node: str) -> int:
        return (self.place / f"alive-{node}").stat().st_size


@pytest.fixture
def site(nfs_bed: Callable[..., NfsBed], slurm_bed: Callable[..., SlurmBed], tmp_path: Path) -> Site:
    need_slurm()
    nfs = nfs_bed("login", "n01", "n02")
    return Site(nfs, slurm_bed(2, slurmd_timeout=5), tmp_path)


def test_a_dead_host_s_lock_does_not_lose_its_task(site: Site) -> None:
    """The job had waited for a minute, ended with 75, and its task had stayed unobserved for good."""
    site.nfs.change("n01", crashed=True)
    site.slurm.kill_node("n01")
    assert site.owner_host() == "n01"
    site.run_again_elsewhere()
    site.wait(lambda: "begun on n02" in site.text(), "the program on the other node")
    assert "was taken over" in site.text()
    site.done.touch()
    site.wait(lambda: "status 0 on n02" in site.text(), "the end")


def test_an_owner_that_lives_after_all_ends_without_touching_anything(site: Site) -> None:
    """Slurm calls a host down whose daemon has ended; the isolator and its program live on there."""
    site.slurm.kill_slurmd("n01")
    site.run_again_elsewhere()
    site.wait(lambda: "begun on n02" in site.text(), "the program on the other node")
    site.wait(lambda: "status 75 on n01" in site.text(), "the old run's end")
    old = site.size("n01")
    site.done.touch()
    site.wait(lambda: "status 0 on n02" in site.text(), "the end")
    assert site.size("n01") == old
    assert "was taken over: another run of it has begun" in site.task.log.read_text()
