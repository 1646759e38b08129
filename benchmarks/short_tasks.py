"""What a short task costs: processor time of all that WHESL runs for it, and the time that many take.

python benchmarks/short_tasks.py [--quick] [--json FILE] [--only WORD]
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from measure import Figure, arguments, median, run_parts, scratch

_PR_SET_CHILD_SUBREAPER = 36  # prctl(2): what our children leave behind is ours
COST = 0.2  # seconds of processor for one task, all in all
TASKS, AT_ONCE = 24, 4
RULES = """\
DECLARE ENTITY WMS, JOB
DECLARE EXCEPTION_TYPE JOB_LEVEL
DECLARE RESOURCE JOB[REPLACE]
DECLARE EXCEPTION CRASH JOB_LEVEL JOB [*]
EXCEPTION DETECTION CRASH LOG "solver failed" stdout
EXCEPTION RECOVERY STEP CRASH JOB JOB.REPLACE
DECLARE EXCEPTION HANG JOB_LEVEL JOB [*]
EXCEPTION DETECTION HANG LOG "cycle = " stdout TIMEOUT 60
EXCEPTION RECOVERY STEP HANG JOB JOB.REPLACE
"""
WHESL = (sys.executable, "-m", "whesl", "exec")


def main() -> None:
    """Measure."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    program = ("sh", "-c", 'echo "cycle = 1"')
    ways: dict[str, tuple[str, ...]] = {
        "without rules": (*WHESL, "--", *program),
        "with rules": (*WHESL, "-e", "rules.esl", "--", *program),
        "a script with rules": (*WHESL, "-e", "rules.esl", "--script", "script"),
        "with rules, told also as JSON (an isolator loads)": (
            *(*WHESL, "-e", "rules.esl", "--json-summary", "/dev/null"),
            *("--", *program),
        ),
    }
    parts = [
        (name, lambda quick, name=name, way=way: _one(name, program, way, quick))
        for name, way in ways.items()
    ]
    run_parts(arguments("What a short task costs."), [*parts, ("many at once", _many)])


def _prepared(place: Path) -> None:
    os.environ["WHESL_HOME"] = str(place / "home")
    (place / "rules.esl").write_text(RULES)
    (place / "script").write_text('#!/bin/sh\necho "cycle = 1"\n')
    _run((*WHESL, "-e", "rules.esl", "--", "true"), place)  # rules are checked once


def _run(command: Sequence[str], place: Path) -> float:
    """Run a command and return the processor time of it and of all that it has left behind, seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with (place / "out").open("ab") as out:
        subprocess.run(command, cwd=place, stdout=out, stderr=out, stdin=subprocess.DEVNULL, check=True)
    with contextlib.suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _one(name: str, bare: Sequence[str], command: Sequence[str], quick: bool) -> list[Figure]:
    costs: dict[str, list[float]] = {"bare": [], "protected": []}
    with scratch() as place:
        _prepared(place)
        for _ in range(3 if quick else 20):
            costs["bare"].append(_run(bare, place))
            costs["protected"].append(_run(command, place))
    return [
        Figure(
            f"processor time of a short task {name}, median",
            median(costs["protected"]),
            "s",
            None if "JSON" in name else COST,
            floor=median(costs["bare"]),
            note=f"least {min(costs['protected']):.2f} s",
        )
    ]


def _many(quick: bool) -> list[Figure]:
    """Run many tasks of a second, a few at a time, by turns bare and protected, into one output file."""
    seconds: dict[str, float] = {}
    costs: dict[str, float] = {}
    many = 8 if quick else TASKS
    with scratch() as place:
        _prepared(place)
        ways = {"bare": ("sleep", "1"), "protected": (*WHESL, "-e", "rules.esl", "--", "sleep", "1")}
        for which, command in ways.items():
            script = f"seq {many} | xargs -P {AT_ONCE} -I @ {' '.join(command)}"
            begun = time.monotonic()
            costs[which] = _run(("sh", "-c", script), place)
            seconds[which] = time.monotonic() - begun
    what = f"{many} tasks of 1 s, {AT_ONCE} at a time"
    return [
        Figure(f"{what}: all of them", seconds["protected"], "s", floor=seconds["bare"]),
        Figure(
            f"{what}: processor time of each",
            costs["protected"] / many,
            "s",
            COST,
            floor=costs["bare"] / many,
        ),
    ]


if __name__ == "__main__":
    main()
