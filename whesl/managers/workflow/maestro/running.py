"""Maestro at work: started in the foreground, watched, cancelled in its own way, continued when it dies.

Its conductor ends with a traceback when it cannot write (a full disk) or cannot ask the scheduler. The
study's record lies on disk, but a conductor started on it begins with all steps anew (maestrowf issue 51).
Behind the sbatch that submits once, that is harmless: each step is told the job that it has already,
running or completed. So the conductor is started again, a few times, unless a step has failed (it would
be run once more) or has run on this machine, where nothing stands between it and a second run.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

from whesl.managers.resource import manager_table
from whesl.managers.workflow.maestro import study
from whesl.managers.workflow.maestro.filesystem_replacement import Shelter
from whesl.managers.workflow.maestro.programs import find_program, with_flux
from whesl.managers.workflow.port import RunPlan
from whesl.model.errors import UsageError

# maestrowf.abstracts.enums.StudyStatus: what `maestro run -fg` ends with.
FINISHED, FAILURE, CANCELLED = 0, 2, 3
_CANCEL_FILE = ".cancel.lock"
_GOOD = frozenset({"FINISHED", "DRYRUN"})
# Of a step on this machine, and of any other, in which the study can go on.
_UNTOUCHED = frozenset({"INITIALIZED"})
_GOING = _UNTOUCHED | {"PENDING", "WAITING", "RUNNING", "FINISHING", "FINISHED", "QUEUED"}
_DIED = frozenset({1, -signal.SIGKILL, -signal.SIGSEGV, -signal.SIGBUS})
# Seconds before the conductor is started again: a full disk is being dealt with meanwhile.
_PAUSES = (2.0, 5.0, 15.0)


class Conductor:
    """A running ``maestro run -fg``."""

    def __init__(self, plan: RunPlan) -> None:
        self._plan = plan
        self._root = Path(plan.workflow.root)
        self._sleep = str(max(1, round(plan.poll)))
        self._shelter = Shelter(self._root, Path(plan.directory)) if plan.full_disk else None
        self._status: int | None = None
        self._again: float | None = None
        self._restarts = 0
        self._stopped = False
        self._program, self._environment = program_of(plan)
        command = [self._program, "run", "-y", "-fg", "-s", self._sleep]
        self._process = self._start([*command, "-o", plan.workflow.root, *plan.arguments, plan.files[0]])

    def _start(self, command: list[str]) -> subprocess.Popen[bytes]:
        with Path(self._plan.log).open("ab") as log:
            return subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=self._environment,
                # A Ctrl-C of the terminal is translated here; Maestro would just die of it.
                start_new_session=True,
            )

    def poll(self) -> int | None:
        """Return Maestro's exit status (128 + n for signal n), None while it runs or is started again.

        Maestro's status of success is not believed when its own table has a step that is not finished.
        """
        if self._status is not None:
            return self._status
        if self._shelter:
            self._shelter.look()
        if self._again is not None:
            if time.monotonic() < self._again and not self._stopped:
                return None
            self._again = None
            if self._shelter:
                self._shelter.make_room()
            conductor = str(Path(self._program).with_name("conductor"))
            self._process = self._start([conductor, "-t", self._sleep, str(self._root)])
        status = self._process.poll()
        if status is None:
            return None
        if status in _DIED and not self._stopped and self._restarts < len(_PAUSES) and self._may_go_on():
            self._again = time.monotonic() + _PAUSES[self._restarts]
            self._restarts += 1
            return None
        if self._shelter:
            self._shelter.close()
        if status == FINISHED and any(state not in _GOOD for state in self.states().values()):
            status = FAILURE
        self._status = status if status >= 0 else 128 - status
        return self._status

    def _may_go_on(self) -> bool:
        """Whether a conductor that begins anew would do nothing twice."""
        states = self.states()
        if not states or not any(self._root.glob("*.study.pkl")):
            # It died before the study was written down: a mistake in it, most likely.
            return False
        here = {step.name for step in study.load(Path(self._plan.files[0])).steps if not step.scheduled}
        steps = {task.name: task.step for task in self._plan.workflow.tasks}
        return all(state in (_UNTOUCHED if steps[name] in here else _GOING) for name, state in states.items())

    def states(self) -> dict[str, str]:
        """Return each task's state from Maestro's ``status.csv``; {} while there is none."""
        try:
            rows = (self._root / "status.csv").read_text().splitlines()[1:]
        except OSError:
            return {}
        return read_status(rows, [task.name for task in self._plan.workflow.tasks])

    def cancel(self) -> None:
        """Do what ``maestro cancel`` does: Maestro cancels its jobs at its next look and ends."""
        self._stopped = True
        try:
            (self._root / _CANCEL_FILE).touch()
        except OSError:
            # Before the study's directory exists, nothing has been submitted.
            self.kill()

    def kill(self) -> None:
        """Kill Maestro and all that it started on this machine."""
        self._stopped = True
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()


def _adapter(plan: RunPlan) -> str:
    """Return the study's adapter. Raises UsageError when it submits to another resource manager."""
    adapter = study.load(Path(plan.files[0])).scheduler
    rjms = plan.environment.get("WHESL_RJMS", "")
    if adapter != "local" and rjms and (adapter == "flux") != (manager_table.manager(rjms).command == "flux"):
        raise UsageError(
            f"the study's batch.type is '{adapter}', and the resource manager is '{rjms}'",
            hint="change the study's batch block, or choose another --rjms",
        )
    return adapter


def program_of(plan: RunPlan) -> tuple[str, Mapping[str, str]]:
    """Return Maestro's program for a study, and the environment that it needs.

    Raises UsageError when there is none, or when it could not do what the study asks for.
    """
    adapter = _adapter(plan)
    _refuse_blanks(plan, adapter)
    if adapter == "flux":
        return with_flux(plan.environment)
    return find_program("maestro", plan.environment), plan.environment


def _refuse_blanks(plan: RunPlan, adapter: str) -> None:
    """Say before anything is submitted what sbatch would say of half a path.

    Maestro's adapters for Slurm and LSF (maestrowf 1.2.1, ``slurmscriptadapter.py``: submit) join the command
    with blanks and give it to a shell.
    """
    bad = re.search(r"[\s;&|<>()$`'\"\\*?]", plan.workflow.root)
    if bad and adapter not in ("local", "flux"):
        raise UsageError(
            f"Maestro cannot submit from {plan.workflow.root}: it hands sbatch its paths without quotation"
            f" marks, and {bad.group()!r} stands in this one",
            hint="choose a directory without blanks and signs for its results: --out DIR",
        )


def read_status(rows: list[str], names: list[str]) -> dict[str, str]:
    """Return the state of each task from the rows of ``status.csv``.

    Maestro joins the columns with commas and quotes nothing, so a row is recognised by the task's name.
    """
    found: dict[str, str] = {}
    by_length = sorted(names, key=len, reverse=True)
    for row in rows:
        name = next((name for name in by_length if row.startswith(name + ",")), None)
        if name is not None:
            # After the name: job id, workspace, state. The workspace is WHESL's name for it, so without
            # a comma (Maestro strips them from directories).
            columns = row[len(name) + 1 :].split(",")
            if len(columns) > 2:
                found[name] = columns[2]
    return found
