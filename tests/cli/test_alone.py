"""A person's word to a paused task of ``whesl exec`` that has no coordinator."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import commands
from tests.waiting import until

RULES = """\
DECLARE ENTITY JOB
DECLARE EXCEPTION_TYPE JOB_LEVEL
DECLARE RESOURCE JOB[REPLACE]
DECLARE EXCEPTION LICENCE JOB_LEVEL JOB [*] LIMIT 1 ELSE PAUSE
EXCEPTION DETECTION LICENCE LOG "no licence" stdout
EXCEPTION RECOVERY STEP LICENCE JOB JOB.REPLACE
"""
PATIENCE = 60.0


class Desk:
    """A home without a coordinator, and one task that pauses until a licence is there."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.environment = {**os.environ, "WHESL_HOME": str(place / "home")}
        (place / "rules.esl").write_text(RULES)
        script = "test -e licence && exit 0; echo no licence; exit 3"
        options = ["exec", "-e", "rules.esl", "--no-coordinator", "--step", "run", "--", "sh", "-c", script]
        self.task = commands.begin(
            *options,
            env=self.environment,
            cwd=place,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )

    def call(self, *words: str) -> tuple[int, str]:
        done = commands.whesl(*words, env=self.environment, cwd=self.place, timeout=PATIENCE)
        return done.returncode, done.stdout + done.stderr

    def until_paused(self) -> None:
        until(lambda: '"state": "paused"' in self.call("report", "exec", "--json")[1], "the pause", PATIENCE)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path)
    try:
        yield desk
    finally:
        desk.task.terminate()
        desk.task.wait(PATIENCE)


@pytest.mark.costly
def test_a_paused_task_goes_on(desk: Desk) -> None:
    desk.until_paused()
    status, said = desk.call("pause", "run")
    assert (status, "exec/run is paused" in said) == (1, True)
    (desk.place / "licence").touch()
    status, said = desk.call("resume", "run", "--wait")
    assert (status, said.splitlines()[0]) == (0, "exec/run goes on")
    assert desk.task.wait(PATIENCE) == 0
    assert not (desk.place / "home" / "coordinator" / "endpoint.json").exists(), (
        "no coordinator is of use here"
    )
    assert not (desk.place / "home" / "tasks" / "exec" / "run" / "control.json").exists()
    status, said = desk.call("report", "exec")
    assert "1 of 1 task completed" in said


def test_a_paused_task_is_cancelled(desk: Desk) -> None:
    desk.until_paused()
    assert desk.call("cancel", "exec/run")[0] == 0
    assert desk.task.wait(PATIENCE) == 143
