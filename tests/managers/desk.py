"""One scenario for every workflow manager: of two tasks the first hangs, fills a disk and loses its node.

A recipe (``recipes/NAME``) is a directory of files as a user would write them: ``/p/me/study`` stands for the
directory of the study and ``/p/me/venv`` for the manager's installation. ``run.sh`` starts the manager, and
prints what it knows of its tasks then.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path

from tests import limits
from tests.environments import environment
from tests.equipment.install_slurm import command
from tests.equipment.slurmbed import SlurmBed
from tests.managers.table import Manager
from tests.waiting import written

RECIPES = Path(__file__).parent / "recipes"
WHESL = Path(sys.executable).parent / "whesl"
LARGE, SMALL = 2000 * 1024, 100 * 1024  # the first file system is too small for the larger one
RULES = """\
DECLARE ENTITY JOB
DECLARE EXCEPTION_TYPE JOB_LEVEL
DECLARE RESOURCE FILESYSTEM[REPLACE]
DECLARE RESOURCE JOB[REPLACE]
DECLARE RESOURCE NODE[REPLACE]
"""
# Each fault's rules, in the order in which the first task meets them.
FAULTS = {
    "HUNG": """\
DECLARE EXCEPTION HUNG JOB_LEVEL JOB [*] LIMIT 1
EXCEPTION DETECTION HUNG SILENCE TIMEOUT SECONDS WARMUP SECONDS
EXCEPTION RECOVERY STEP HUNG JOB JOB.REPLACE
""",
    "FULL": """\
DECLARE EXCEPTION FULL JOB_LEVEL JOB [*] LIMIT 1
EXCEPTION DETECTION FULL MATCH "No space left on device" output
EXCEPTION RECOVERY STEP FULL JOB FILESYSTEM.REPLACE %s
""",
    "LOST": """\
DECLARE EXCEPTION LOST JOB_LEVEL JOB [*] LIMIT 1
EXCEPTION DETECTION LOST NODE DOWN
EXCEPTION RECOVERY STEP LOST JOB NODE.REPLACE
""",
}
# All attempts but the last one end by what is done to them.
MAKE = """\
echo "$WHESL_RESTART_COUNT $SLURM_JOB_ID" >> /p/me/study/attempts
fault=$(echo FAULTS end | cut -d ' ' -f $((WHESL_RESTART_COUNT + 1)))
case "$fault" in
HUNG) echo half > "$1"; echo begun; sleep 600;;
LOST) hostname > /p/me/study/lose; while echo at work; do sleep 0.3; done;;
*) head -c SIZE /dev/zero | tr '\\0' x > "$1";;
esac
"""
# What makes a recipe one without WHESL, each an expression and what stands in its place.
PLAIN = (
    (r"whesl exec .*?-- ", ""),
    (r"(?<![\w/])small/made.txt", "/p/me/study/small/made.txt"),  # relative paths in scripts are not mapped
)
USE = 'wc -c < "$1" > "$2"\n'


def slurm_commands(directory: Path, bed: SlurmBed, *names: str) -> None:
    """Write commands that know this cluster, for managers that drop ``SLURM_CONF`` with Slurm's variables."""
    directory.mkdir()
    for name in names:
        program = directory / name
        program.write_text(f'#!/bin/sh\nexport SLURM_CONF={bed.conf}\nexec {command(name)} "$@"\n')
        program.chmod(0o755)


class Desk:
    """A study's directory, part of which is a small file system of its own, and the cluster of its jobs.

    With ``alone``, one of the faults, the recipe's files are those of a user without WHESL, whose jobs
    ``whesl front`` protects from this fault.
    """

    def __init__(self, place: Path, bed: SlurmBed, manager: Manager, *, alone: str = "") -> None:
        self.place, self._bed, self._manager = place, bed, manager
        self._plain = bool(alone)
        self._faults = (alone,) if alone else tuple(FAULTS)
        self._size = LARGE if "FULL" in self._faults else SMALL
        self._installed = environment(*manager.packages).parent if manager.packages else place
        (place / "large").mkdir()
        paths = json.dumps({"filesystem": str(place / "large"), "defaultpath": str(place / "small")})
        # On a busy machine the next attempt is not to count as hung before its first line.
        silence = f"{3 * limits.crowd():.0f}"
        rules = "".join(FAULTS[fault] for fault in self._faults)
        rules = rules.replace("%s", paths).replace("SECONDS", silence)
        (place / "rules.esl").write_text(RULES + rules)
        program = MAKE.replace("FAULTS", " ".join(self._faults)).replace("SIZE", str(self._size))
        (place / "make.sh").write_text(self._here(program))
        (place / "use.sh").write_text(USE)
        for file in (RECIPES / manager.recipe).iterdir():
            (place / file.name).write_text(self._here(self._text(file.read_text())))
        slurm_commands(place / "bin", bed, "sbatch", "scancel", "scontrol", "sinfo", "squeue", "srun")
        path = f"{place / 'bin'}:{self._installed / 'bin'}:{WHESL.parent}:{os.environ['PATH']}"
        (place / ".profile").write_text(f"PATH={path}\n")  # login shells begin with another one
        here = {"HOME": str(place), "PWD": str(place), "WHESL_HOME": os.environ["WHESL_HOME"], "PATH": path}
        # Without these, Celery's workers and Open MPI refuse to run as the tests' user.
        root = dict.fromkeys(
            ("C_FORCE_ROOT", "OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"), "1"
        )
        self.environment = {**bed.environment, **here, **root}

    def _text(self, text: str) -> str:
        if self._plain:
            for old, new in (*self._manager.plain, *PLAIN):
                text = re.sub(old, new, text)
        return text

    def _here(self, text: str) -> str:
        return text.replace("/p/me/study", str(self.place)).replace("/p/me/venv", str(self._installed))

    def call(self, *words: str | Path) -> str:
        """Run a command that has to succeed; return all that it printed."""
        log = self.place / f"{Path(words[0]).name}.log"
        with log.open("w") as file:
            done = subprocess.run(
                words,
                cwd=self.place,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                timeout=280,
                check=False,
            )
        said = log.read_text(errors="replace")
        assert done.returncode == 0, said
        return said

    def run(self) -> str:
        """Start the manager as its recipe says, take the node that is to be lost; return what was printed."""
        ended = threading.Event()

        def take() -> None:
            while not (node := written(self.place / "lose").strip()) and not ended.wait(0.3):
                pass
            if node:
                self._bed.kill_node(node)

        taker = threading.Thread(target=take)
        taker.start()
        try:
            front = (WHESL, "front", "-e", "rules.esl", "--no-own-node", "--") if self._plain else ()
            return self.call(*front, "sh", "run.sh")
        finally:
            ended.set()
            taker.join()

    def check(self, said: str) -> None:
        """Check that the manager saw successes only, each in the job in which its task began."""
        for expected in self._manager.sees:
            assert re.search(expected, said, re.MULTILINE), (
                f"no {expected!r} in what the manager said:\n{said}"
            )
        attempts = [line.split() for line in (self.place / "attempts").read_text().splitlines()]
        assert [int(count) for count, _ in attempts] == [*range(len(self._faults) + 1)]
        assert len({job for _, job in attempts}) == 1, attempts
        shown = self.call("scontrol", "show", "jobs", "--oneliner").splitlines()
        jobs = [dict(re.findall(r"(\w+)=(\S*)", line)) for line in shown if line.startswith("JobId=")]
        assert len(jobs) == self._manager.jobs, shown
        assert {job["Restarts"] for job in jobs} == {"0"}
        assert attempts[0][1] in {job["JobId"] for job in jobs}
        report = json.loads(self.call(WHESL, "report", "exec", "--json"))
        assert {row["state"] for row in report["tasks"]} == {"completed"}
        assert [row["exception"] for row in report["exceptions"]] == [*self._faults]
        # The next fault comes before the recovery from the one before it can prove itself.
        outcomes = [*(["restarted"] * (len(self._faults) - 1)), "recovered"]
        assert [row["outcome"] for row in report["exceptions"]] == outcomes
        assert (self.place / "used.txt").read_text().split() == [str(self._size)]
        made = self.place / "small" / "made.txt"
        assert made.stat().st_size == self._size
        assert made.resolve().is_relative_to(self.place / "large") is ("FULL" in self._faults)

    def remove(self) -> None:
        """Remove what the manager has left, which may be much."""
        shutil.rmtree(self.place / "cylc-run", ignore_errors=True)
