"""Finds the logs of a file, a directory, a job's id or a task's name."""

from __future__ import annotations

import glob
import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from whesl.managers.resource.outcomes import lookup
from whesl.managers.resource.outcomes.record import JobOutcome
from whesl.model.errors import UsageError
from whesl.runtime.diagnose.diagnosis_records import Accounting

_LOGS = (".out", ".err", ".log", ".txt", ".o", ".e", ".gz", ".xz", ".bz2", ".zst", ".lz4")
# Names of logs: PBS's job.o1234 and job.e1234-7, launchers' files of a rank, rotated logs.
_LOG = re.compile(r".*\.[oe]\d[\d.\[\]-]*|std(?:out|err)(?:\.\d+)*|.*\.(?:out|err|log)[.-]\d+")

_CLOCKS = 5.0  # seconds by which the clocks of a file server and of the manager may differ


def logs_of(
    named: Sequence[str], kept: Path, unread: Callable[[str], None]
) -> tuple[list[str], Accounting | None]:
    """Return the logs of some names, and the record of the job's end.

    Args:
        named: files; directories with logs; ids of jobs; names of WHESL's tasks; ``-`` for standard input.
        kept: a directory for output that a resource manager keeps itself.
        unread: called with a sentence for each job whose output is missing.

    Raises:
        UsageError: a name is neither that of a log nor that of a job or task.
    """
    files: list[str] = []
    accounting = None
    for log in named:
        path = Path(log)
        if log != "-" and not path.exists() and lookup.is_job(log):
            found = lookup.look_up(log)
            files += _output(log, found, kept, unread)
            accounting = _accounting(found)
        elif log == "-":
            files.append(log)
        elif path.is_dir():
            files += _inside(path)
        elif path.exists():
            files.append(log)
        else:
            # Imported only here: for files alone no modules of daemons are needed.
            from whesl.client import task_outputs
            from whesl.runtime.wire import keys

            task = task_outputs.of(keys.home(), log)
            if task is None or not task.files:
                said = log if task is None else f"what {task.task} printed"
                hint = "give a log, a directory of logs, a job, a task, or - for a pipe"
                raise UsageError(f"{said} is not there", hint=hint)
            files += task.files
            if task.state is not None:
                state = "COMPLETED" if task.state.value == "completed" else "FAILED"
                accounting = Accounting(state=state, status=task.exit_code, told=task.told)
    return files, accounting


def _inside(folder: Path) -> list[str]:
    """Return the logs in a directory and below it. Raises UsageError for a directory without logs."""
    names = [str(path) for path in sorted(folder.rglob("*")) if _is_log(path) and path.is_file()]
    if not names:
        hint = f"names that end in {', '.join(_LOGS)}, or like job.o1234 or stdout"
        raise UsageError(f"{folder} has no logs in it", hint=hint)
    return names


def _is_log(path: Path) -> bool:
    return path.suffix in _LOGS or _LOG.fullmatch(path.name) is not None


def _output(job: str, found: JobOutcome, kept: Path, unread: Callable[[str], None]) -> list[str]:
    """Return the existing files of a job's output, each once; no older file of the same name."""
    named = [name for name in found.files if Path(name).is_file()]
    for pattern in found.globs:
        matching = sorted(glob.glob(pattern))  # noqa: PTH207  # Path.glob refuses absolute patterns
        named += (name for name in matching if Path(name).is_file())
    there = [name for name in named if Path(name).stat().st_mtime > found.since - _CLOCKS]
    if found.text is not None:
        copy = kept / f"{job}.out"
        copy.write_text(found.text)
        there.append(str(copy))
    if found.since == math.inf:
        unread(f"job {job} has not begun, and has no output")
    elif not there and named:
        unread(f"job {job}: its output is not to be found here ({named[0]} is older than the job)")
    elif not there:
        missing = " and ".join(found.files[:2]) or "it names no file"
        unread(f"job {job}: its output is not to be found here ({missing})")
    if found.hidden:
        unread(f"job {job}: read {', '.join(there) or 'nothing'}; {found.hidden}")
    return list({Path(name).resolve(): name for name in there}.values())


def _accounting(found: JobOutcome) -> Accounting:
    return Accounting(state=found.state, status=found.status, node=found.node, told=found.told)
