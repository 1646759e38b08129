"""Runs Maestro in the foreground, watches it, cancels it in Maestro's own way, restarts it when it dies.

Maestro's conductor ends with a traceback when it cannot write (a full disk) or cannot ask the scheduler. A
new conductor on the study's record begins again with all steps (maestrowf issue 51). With WHESL's sbatch,
which submits each task once, that is harmless: each step gets the job that it already has, running or
completed. So WHESL restarts the conductor a few times, unless a step has failed (which would run once more),
or has run on this machine, where nothing prevents a second run.
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
from whesl.managers.workflow.foreground_manager_process import refuse_unwrapped
from whesl.managers.workflow.maestro import study
from whesl.managers.workflow.maestro.filesystem_replacement import Shelter
from whesl.managers.workflow.maestro.programs import find_program, with_flux
from whesl.managers.workflow.port import RunPlan
from whesl.model.errors import UsageError

# The exit statuses of `maestro run -fg` (maestrowf.abstracts.enums.StudyStatus).
FINISHED, FAILURE, CANCELLED = 0, 2, 3
_CANCEL_FILE = ".cancel.lock"
# The submission commands of Maestro's adapters (maestrowf 1.2.1, maestrowf/interfaces/script).
_SUBMITS = {"flux": "flux", "slurm": "sbatch", "lsf": "bsub"}
_GOOD = frozenset({"FINISHED", "DRYRUN"})
# Steps' states in which a conductor can be restarted: of steps on this machine, and (_GOING) of submitted
# steps.
_UNTOUCHED = frozenset({"INITIALIZED"})
_GOING = _UNTOUCHED | {"PENDING", "WAITING", "RUNNING", "FINISHING", "FINISHED", "QUEUED"}
_DIED = frozenset({1, -signal.SIGKILL, -signal.SIGSEGV, -signal.SIGBUS})
# Seconds before each restart of the conductor, in which a recovery can deal with a full disk.
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
                # A Ctrl-C of the terminal reaches Maestro only by ``cancel``: it would end Maestro at once.
                start_new_session=True,
            )

    def poll(self) -> int | None:
        """Return Maestro's exit status (128 + n for signal n), None while Maestro runs or is being restarted.

        A status of success counts as a failure when Maestro's own table has an unfinished step.
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
        """Whether a restarted conductor would run no step twice."""
        states = self.states()
        if not states or not any(self._root.glob("*.study.pkl")):
            # Maestro died before it wrote the study's record, most likely by an error in the study.
            return False
        here = {step.name for step in study.load(Path(self._plan.files[0])).steps if not step.scheduled}
        steps = {task.name: task.step for task in self._plan.workflow.tasks}
        return all(state in (_UNTOUCHED if steps[name] in here else _GOING) for name, state in states.items())

    def states(self) -> dict[str, str]:
        """Return each task's state from Maestro's ``status.csv``; {} without that file."""
        try:
            rows = (self._root / "status.csv").read_text().splitlines()[1:]
        except OSError:
            return {}
        return read_status(rows, [task.name for task in self._plan.workflow.tasks])

    def cancel(self) -> None:
        """Do the same as ``maestro cancel``: at its next look, Maestro cancels its jobs and ends."""
        self._stopped = True
        try:
            (self._root / _CANCEL_FILE).touch()
        except OSError:
            # Without the study's directory, Maestro has submitted no job.
            self.kill()

    def kill(self) -> None:
        """Kill Maestro and all processes that it started on this machine."""
        self._stopped = True
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()


def _adapter(plan: RunPlan) -> str:
    """Return the study's adapter. Raises UsageError for an adapter of another resource manager."""
    adapter = study.load(Path(plan.files[0])).scheduler
    rjms = plan.environment.get("WHESL_RJMS", "")
    command = manager_table.manager(rjms).command
    if adapter != "local" and command and command not in _SUBMITS.values():
        raise UsageError(
            f"Maestro has no adapter for {rjms}, so the steps of a study cannot be jobs there",
            hint=f"set batch.type to local, and submit a script by {command} that calls `whesl run --rjms "
            f"{rjms}`: the steps run inside that job; or give `whesl run` the steps as batch scripts",
        )
    if adapter != "local":
        refuse_unwrapped(f"a study with batch.type '{adapter}'", plan, _SUBMITS.get(adapter, adapter))
    return adapter


def program_of(plan: RunPlan) -> tuple[str, Mapping[str, str]]:
    """Return Maestro's program for a study, and the environment that it needs.

    Raises UsageError when Maestro is not installed, or could not run the study.
    """
    adapter = _adapter(plan)
    _refuse_blanks(plan, adapter)
    if adapter == "flux":
        return with_flux(plan.environment)
    return find_program("maestro", plan.environment), plan.environment


def _refuse_blanks(plan: RunPlan, adapter: str) -> None:
    """Raise UsageError for a path with blanks, which Maestro would split.

    Maestro's adapters for Slurm and LSF (maestrowf 1.2.1, ``slurmscriptadapter.py``: submit) join the
    submission command with blanks and pass it to a shell.
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

    Maestro joins the columns with commas and without quotes, so the task's name identifies a row.

    Args:
        rows: the file's rows, without the header.
        names: the tasks' names.
    """
    found: dict[str, str] = {}
    by_length = sorted(names, key=len, reverse=True)
    for row in rows:
        name = next((name for name in by_length if row.startswith(name + ",")), None)
        if name is not None:
            # The columns after the name: job id, workspace, state. A workspace has no comma, because Maestro
            # removes commas from directories' names.
            columns = row[len(name) + 1 :].split(",")
            if len(columns) > 2:
                found[name] = columns[2]
    return found
