"""A job by its number: where its output is, and what Slurm says of it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from whesl.model.errors import UsageError, WheslError

if TYPE_CHECKING:
    from whesl.diagnose.records import Accounting

JOB = re.compile(r"\d+(?:_\d+)?$")
_FIELDS = ("State", "ExitCode", "MaxRSS", "ReqMem", "Timelimit", "Elapsed", "NodeList", "StdOut", "StdErr")


class Commands(Protocol):
    """Runs one command of the resource manager."""

    def run(self, *command: str) -> str:
        """Return what it prints."""


def look_up(job: str, commands: Commands) -> tuple[list[str], Accounting]:
    """Return the output files of a job that are there, and its accounting.

    Args:
        job: its number, also of an element of an array.
        commands: Slurm's.

    Raises:
        UsageError: Slurm does not know the job, or does not answer.
    """
    from whesl.rjms.slurm.records import output_files

    try:
        shown = commands.run("scontrol", "show", "job", job)
    except WheslError as error:
        return _accounted(job, commands, error)
    files = [path for path in output_files(shown, job) if Path(path).is_file()]
    words = dict(word.partition("=")[::2] for line in shown.splitlines() for word in line.split())
    return files, _accounting(words.get("JobState", ""), words.get("ExitCode", ""), words)


def _accounted(job: str, commands: Commands, error: WheslError) -> tuple[list[str], Accounting]:
    """Return what ``sacct`` knows of a job that has left the controller's memory."""
    try:
        text = commands.run("sacct", "-n", "-P", "-X", "-j", job, f"--format={','.join(_FIELDS[:-2])}")
    except WheslError:
        raise UsageError(f"Slurm does not tell of job {job}: {error}", hint="give its log") from error
    rows = [line.split("|") for line in text.splitlines() if line.strip()]
    if not rows:
        raise UsageError(f"Slurm does not know job {job} any more", hint="give its log")
    words = dict(zip(_FIELDS, rows[-1], strict=False))
    default = Path(f"slurm-{job}.out")  # where sbatch writes it unless told otherwise
    return [str(default)] if default.is_file() else [], _accounting(words["State"], words["ExitCode"], words)


def _accounting(state: str, exit_code: str, words: dict[str, str]) -> Accounting:
    from whesl.diagnose.records import Accounting

    code, _, signal = exit_code.partition(":")
    status = 128 + int(signal) if signal.isdigit() and int(signal) else int(code) if code.isdigit() else None
    told = ", ".join(f"{name}={words[name]}" for name in ("JobState", *_FIELDS) if words.get(name))
    return Accounting(state=state.split(" ")[0].rstrip("+"), status=status, told=told)
