"""A coordinator that cannot be reached, since packets are dropped and not refused: on real Slurm."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import commands
from tests.equipment.slurmbed import SlurmBed
from whesl.runtime.wire.client import CONTACT_LIMIT

pytestmark = [pytest.mark.slurm, pytest.mark.slow, pytest.mark.timeout(300)]

RULES = """\
DECLARE ENTITY WMS, JOB
DECLARE EXCEPTION_TYPE JOB_LEVEL, WORKFLOW_LEVEL
DECLARE RESOURCE JOB[REPLACE]
DECLARE EXCEPTION HERE JOB_LEVEL JOB [app]
EXCEPTION DETECTION HERE LOG "trouble here" stdout
EXCEPTION RECOVERY STEP HERE JOB JOB.REPLACE
DECLARE EXCEPTION WIDE WORKFLOW_LEVEL JOB [app]
EXCEPTION DETECTION WIDE LOG "trouble everywhere" stdout
EXCEPTION RECOVERY STEP WIDE JOB JOB.REPLACE
"""
PROGRAM = """\
#!/bin/bash
cd {place}
echo "start $WHESL_RESTART_COUNT"
for i in $(seq 6000); do
  [ -e done ] && exit 0
  for level in here everywhere; do
    [ -e $level ] && rm $level && echo "trouble $level"
  done
  sleep 0.05
done
exit 1
"""


class Dropped:
    """A coordinator on the login node, and a job that waits for ``go`` before it wraps its program."""

    def __init__(self, bed: SlurmBed, place: Path, *options: str) -> None:
        self.bed = bed
        self.place = place
        self.home = place / "home"
        self.home.mkdir(mode=0o700)
        (place / "rules.esl").write_text(RULES)
        program = place / "program"
        program.write_text(PROGRAM.format(place=place))
        program.chmod(0o700)
        assert self.whesl("coordinator", "start").returncode == 0
        command = f"{sys.executable} -m whesl exec --workflow wf --step app -e rules.esl {' '.join(options)}"
        self.job = bed.submit(
            f"#!/bin/bash\nexport WHESL_HOME={self.home}\ncd {place}\necho waits\n"
            f"until [ -e go ]; do sleep 0.05; done\n{command} -- {program}\necho status $?\n",
            *("-N", "1", "--no-requeue", f"--output={place / 'out'}"),
        )
        self.prints("waits")

    def whesl(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return commands.whesl(
            *arguments, env={**self.bed.environment, "WHESL_HOME": str(self.home)}, stdin=subprocess.DEVNULL
        )

    def text(self) -> str:
        out = self.place / "out"
        return out.read_text() if out.exists() else ""

    def prints(self, text: str) -> None:
        try:
            self.bed.wait_for(lambda: text in self.text(), text)
        except BaseException:
            print(self.text(), *(log.read_text() for log in self.home.rglob("log")))
            raise

    def let(self, *names: str) -> None:
        for name in names:
            (self.place / name).touch()

    def task(self) -> dict[str, Any]:
        shown = json.loads(self.whesl("status", "--json").stdout)
        tasks = [task for workflow in shown["workflows"] for task in workflow["tasks"]]
        return tasks[0] if tasks else {}

    def is_told(self, state: str) -> None:
        self.bed.wait_for(lambda: self.task().get("state") == state, f"{state} at the coordinator")


@pytest.fixture
def begin(slurm_bed: Callable[..., SlurmBed], tmp_path: Path) -> Iterator[Callable[..., Dropped]]:
    made: list[Dropped] = []

    def make(*options: str) -> Dropped:
        made.append(Dropped(slurm_bed(1, "net", slurmd_timeout=600), tmp_path, *options))
        return made[0]

    yield make
    for each in made:
        each.whesl("coordinator", "stop")


def test_a_task_goes_on_and_recovers_and_tells_it_later(begin: Callable[..., Dropped]) -> None:
    made = begin()
    made.let("go")
    made.prints("start 0")
    made.is_told("running")
    made.bed.drop("n01")
    time.sleep(1.2 * CONTACT_LIMIT)
    made.let("here")
    made.prints("start 1")
    made.bed.pass_on("n01")
    made.let("done")
    made.prints("status 0")
    made.is_told("completed")
    assert "HERE" in made.whesl("events").stdout


def test_a_command_starts_and_ends_although_nobody_answers(begin: Callable[..., Dropped]) -> None:
    made = begin()
    made.bed.drop("n01")
    made.let("go")
    made.prints("start 0")
    made.let("done")
    made.prints("status 0")
    made.bed.pass_on("n01")
    made.is_told("completed")


def test_a_recovery_that_concerns_others_waits_and_says_so(begin: Callable[..., Dropped]) -> None:
    made = begin()
    made.let("go")
    made.prints("start 0")
    made.is_told("running")
    made.bed.drop("n01")
    made.let("everywhere")
    made.prints("wait")
    assert "start 1" not in made.text()
    made.bed.pass_on("n01")
    made.prints("start 1")
    made.let("done")
    made.prints("status 0")
    made.is_told("completed")


def test_that_wait_has_an_end(begin: Callable[..., Dropped]) -> None:
    made = begin("--wait", "5")
    made.let("go")
    made.prints("start 0")
    made.is_told("running")
    made.bed.drop("n01")
    made.let("everywhere")
    made.prints("status ")
    assert "status 0" not in made.text() and "start 1" not in made.text()
    made.bed.pass_on("n01")
    made.is_told("failed")
