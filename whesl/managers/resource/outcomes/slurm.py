"""The outcome of a Slurm job, from ``sacct``, and ``scontrol show job`` while the controller knows it."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path

from whesl.managers.resource.outcomes.record import JobOutcome, Run
from whesl.managers.resource.outcomes.slurm_written_files import written_files
from whesl.managers.resource.slurm.slurm_command_output import output_files
from whesl.model.errors import WheslError

JOB = re.compile(r"\d+(?:[_+]\d+)?")
_TOLD = ("JobState", "State", "Reason", "ExitCode", "MaxRSS", "ReqMem", "Timelimit", "TimeLimit", "Elapsed")
_FIELDS = (
    *("JobID", "State", "ExitCode", "MaxRSS", "ReqMem", "Timelimit", "Elapsed", "NodeList", "WorkDir"),
    *("Start", "JobName", "SubmitLine"),
)
_FAILED = frozenset({"FAILED", "TIMEOUT", "OUT_OF_MEMORY", "NODE_FAIL", "BOOT_FAIL", "DEADLINE"})
_UNITS = {"K": 1, "M": 2, "G": 3, "T": 4}


def outcome(job: str, run: Run) -> JobOutcome | None:
    """Return Slurm's report on a job, None when Slurm does not know the job.

    For a whole array (``12``) the report covers the first failed element, or else one of the others.

    Args:
        job: the job's id, also that of an array element or of a part of a heterogeneous job.
        run: runs Slurm's commands.

    Raises:
        WheslError: neither the controller nor the accounting knows the job.
    """
    accounted = _accounted(job, run)
    try:
        shown = run("scontrol", "show", "job", job)
    except WheslError:
        if not accounted:
            raise
        return _outcome(accounted, _default_output(job, accounted), _script(job, run))
    rows = [
        {**words, "State": words["JobState"]}
        for block in shown.split("\n\n")
        if "JobState" in (words := dict(word.partition("=")[::2] for word in block.split()))
    ]
    if not rows:
        return None
    words = _first_failed(rows)
    element = f"{words.get('ArrayJobId', '')}_{words.get('ArrayTaskId', '')}"
    files = output_files(shown, element) or output_files(shown, words.get("JobId", job))
    script = _script(words.get("JobId", job), run)
    return _outcome({**(accounted if len(rows) == 1 else {}), **words}, files, script)


def _first_failed(rows: Sequence[dict[str, str]]) -> dict[str, str]:
    """Return the first row of a job that failed, or else the last row.

    Args:
        rows: the job, or the elements of an array in any order, or the parts of a heterogeneous job.
    """
    failed = [row for row in rows if row["State"].split(" ")[0].rstrip("+") in _FAILED]
    return min(failed, key=_element) if failed else rows[-1]


def _element(row: dict[str, str]) -> int:
    """Return the number of an array's element; 0 for other jobs."""
    number = row.get("ArrayTaskId", row.get("JobID", "").partition("_")[2])
    return int(number) if number.isdigit() else 0


def _accounted(job: str, run: Run) -> dict[str, str]:
    """Return the fields of a job in the accounting, with the largest memory use of its steps."""
    try:
        text = run("sacct", "-n", "-P", "-j", job, f"--format={','.join(_FIELDS)}")
    except WheslError:
        return {}
    rows = [dict(zip(_FIELDS, line.split("|"), strict=False)) for line in text.splitlines() if line.strip()]
    jobs = [row for row in rows if "." not in row["JobID"]]
    if not jobs:
        return {}
    most = max((row.get("MaxRSS", "") for row in rows), key=_bytes)
    return {name: value for name, value in {**_first_failed(jobs), "MaxRSS": most}.items() if value}


def _bytes(text: str) -> float:
    match = re.fullmatch(r"([\d.]+)([KMGT]?)", text)
    return float(match[1]) * 1024.0 ** _UNITS.get(match[2], 0) if match else 0.0


def _default_output(job: str, words: dict[str, str]) -> tuple[str, ...]:
    """Return sbatch's default output files: accounting before Slurm 24.05 does not keep their names."""
    return tuple(str(Path(place) / f"slurm-{job}.out") for place in (words.get("WorkDir", ""), ""))


def _script(job: str, run: Run) -> str | None:
    """Return the batch script of a job; None where Slurm does not have it, or not any more."""
    for command in (("scontrol", "write", "batch_script", job, "-"), ("sacct", "--batch-script", "-j", job)):
        try:
            script = run(*command)
        except WheslError:
            continue
        if "#!" in script:
            return script
    return None


def _outcome(words: dict[str, str], files: tuple[str, ...], script: str | None) -> JobOutcome:
    code, _, signal = words.get("ExitCode", "").partition(":")
    status = 128 + int(signal) if signal.isdigit() and int(signal) else int(code) if code.isdigit() else None
    return JobOutcome(
        state=words["State"].split(" ")[0].rstrip("+"),
        status=status,
        told=", ".join(f"{name}={words[name]}" for name in (*_TOLD, "NodeList") if words.get(name)),
        files=files,
        globs=written_files(words.get("SubmitLine", ""), script or "", words),
        since=_since(words),
        hidden=""
        if script is not None
        else "Slurm does not have its script, whose steps may write to other files",
    )


def _since(words: dict[str, str]) -> float:
    """Return the time, in seconds since the epoch, at which a job began; infinity if it never did."""
    if words.get("Restarts", "0") != "0":
        return 0.0
    began = words.get("StartTime", words.get("Start", ""))
    on_no_node = words.get("NodeList", "") in ("", "(null)", "None assigned")
    if words["State"].startswith("PENDING") or (began and (on_no_node or not began.isdigit())):
        return math.inf
    return float(began or 0)
