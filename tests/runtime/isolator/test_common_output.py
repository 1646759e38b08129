"""Two tasks that have one output file: each is judged by its own lines, and none of them is lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.runtime.isolator.bench import HEAD, exists, records, until
from whesl.runtime.isolator.task.taskdir import TaskDir

RULES = """\
DECLARE EXCEPTION CRASH JOB_LEVEL JOB [*]
DECLARE EXCEPTION HANG JOB_LEVEL JOB [*]
EXCEPTION DETECTION CRASH LOG "solver failed" stdout
EXCEPTION DETECTION HANG LOG "cycle = " stdout TIMEOUT 4
EXCEPTION RECOVERY STEP CRASH JOB JOB.REPLACE
EXCEPTION RECOVERY STEP HANG JOB JOB.REPLACE
"""
AGAIN = '[ "$WHESL_RESTART_COUNT" = 0 ] || { echo "cycle = again"; exit 0; }\n'
STEADY = 'until [ -e stop ]; do echo "cycle = $((n += 1)) steady"; sleep 0.2; done\n'
FAILING = AGAIN + 'echo "cycle = 1 failing"; sleep 0.5; echo "solver failed"; exec sleep 600\n'
HANGING = AGAIN + 'echo "cycle = 1 hanging"; exec sleep 600\n'


class Task:
    """One ``whesl exec`` in the background of a script that has one output file."""

    def __init__(self, place: Path, name: str, program: str) -> None:
        self.directory = TaskDir(place / f"task-{name}")
        (place / f"{name}.sh").write_text(program)
        (place / "rules.esl").write_text(HEAD + RULES)
        options = ("--task-dir", str(self.directory.path), "-e", "rules.esl", "--step", name)
        with (place / "common").open("ab") as common:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "whesl", "exec", *options, "--", "bash", f"{name}.sh"],
                stdout=common,
                stderr=subprocess.STDOUT,
                cwd=place,
                env={**os.environ, "WHESL_HOME": str(place / "home")},
            )

    def raised(self) -> list[str]:
        return [data["raised"]["exception"] for kind, data in records(self.directory) if kind == "raised"]

    def begun(self) -> bool:
        assert self.process.poll() is None
        return "launched" in [kind for kind, _ in records(self.directory)]


def counted(place: Path, word: str) -> list[int]:
    """Return the numbers of a steady task's lines."""
    lines = (place / "common").read_text().splitlines()
    return [int(line.split()[2]) for line in lines if line.endswith(word)]


@pytest.mark.costly
def test_each_of_three_tasks_in_one_file_is_judged_by_its_own_lines(tmp_path: Path) -> None:
    """The first, who writes to the file itself, hangs; one of those that are copied fails, one is well."""
    hanging = Task(tmp_path, "hanging", HANGING)
    try:
        until(hanging.begun, "the first task")
        steady = Task(tmp_path, "steady", STEADY)
        until(steady.begun, "the second task")
        failing = Task(tmp_path, "failing", FAILING)
        assert failing.process.wait(60) == 0
        assert hanging.process.wait(60) == 0, "its neighbour's signs of life are none of its own"
        (tmp_path / "stop").touch()
        assert steady.process.wait(60) == 0
    finally:
        (tmp_path / "stop").touch()
    assert (hanging.raised(), steady.raised(), failing.raised()) == (["HANG"], [], ["CRASH"])
    numbers = counted(tmp_path, "steady")
    assert numbers == [*range(1, len(numbers) + 1)]
    text = (tmp_path / "common").read_text()
    assert text.count("cycle = again\n") == 2
    assert text.count("cycle = 1 hanging\n") == text.count("solver failed\n") == 1
    assert not [*(tmp_path / "home" / "outputs").iterdir()]


def test_output_that_is_copied_outlives_its_keeper_and_its_isolator(tmp_path: Path) -> None:
    first = Task(tmp_path, "first", "until [ -e stop ]; do sleep 0.1; done\n")
    until(first.begun, "the first task")
    steady = Task(tmp_path, "steady", STEADY + 'echo "cycle = $((n += 1)) steady"\n')
    try:
        until(lambda: counted(tmp_path, "steady"), "the second task's output")
        isolator = steady.directory.owner()
        assert isolator is not None
        os.kill(isolator.pid, signal.SIGKILL)
        until(lambda: (owner := steady.directory.owner()) and owner.pid != isolator.pid, "another isolator")
        steady.process.kill()
        steady.process.wait()
        before = counted(tmp_path, "steady")
        own = (steady.directory.attempt(1) / "stdout").read_text
        until(lambda: own().count("\n") > len(before) + 3, "the program goes on")
        (tmp_path / "stop").touch()
        until(lambda: not exists(isolator.pid) and steady.directory.owner() is None, "its end")
        numbers = counted(tmp_path, "steady")
        assert numbers == [*range(1, own().count("\n") + 1)]
    finally:
        (tmp_path / "stop").touch()
        first.process.wait(60)
