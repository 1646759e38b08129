"""Records of a Slurm job and its steps in the accounting, and what earlier runs and dead steps tell."""

from __future__ import annotations

import re
from collections.abc import Sequence

from whesl.managers.resource.outcomes.record import Run
from whesl.model.errors import WheslError

_FIELDS = (
    *("JobID", "State", "ExitCode", "MaxRSS", "ReqMem", "Timelimit", "Elapsed", "NodeList", "WorkDir"),
    *("Start", "JobName", "SubmitLine", "Submit", "End", "FailedNode"),
)
_SINCE_23_11 = 1  # how many of the last fields older releases of Slurm do not have
_OF_A_STEP = frozenset({"OUT_OF_MEMORY", "NODE_FAIL", "TIMEOUT"})
_CRASHES = frozenset({"4", "6", "7", "8", "11"})  # signals that a program causes itself
_REQUEUED = 3  # greatest number of seconds between the end of a run and its job's submission to the queue
_UNITS = {"K": 1, "M": 2, "G": 3, "T": 4}


def records_of(job: str, run: Run) -> list[dict[str, str]]:
    """Return the records of a job and of its steps in the accounting, those of earlier runs first.

    Args:
        job: the job's id; that of an array gives the records of all its elements.
        run: runs ``sacct``.

    A record has sacct's fields by their names. A site without accounting, or a failed ``sacct``, gives none.
    """
    for fields in (_FIELDS, _FIELDS[:-_SINCE_23_11]):
        try:
            text = run("sacct", "-n", "-P", "-D", "-j", job, f"--format={','.join(fields)}")
        except WheslError:
            continue
        rows = [
            dict(zip(fields, line.split("|"), strict=False)) for line in text.splitlines() if line.strip()
        ]
        return sorted(rows, key=lambda row: _seconds(row, "Submit"))
    return []


def with_runs_and_dead_step(job: dict[str, str], accounted: Sequence[dict[str, str]]) -> dict[str, str]:
    """Return the newest record of a job with its earlier runs, its dead step, and the memory of its steps.

    Args:
        job: the record.
        accounted: the records of this job, of others, and of steps.
    """
    began = _seconds(job, "Start")
    steps = [
        row
        for row in accounted
        if row["JobID"].startswith(f"{job['JobID']}.") and _seconds(row, "Start") >= began
    ]
    most = max((row.get("MaxRSS", "") for row in (job, *steps)), key=_bytes)
    found = {**job, "MaxRSS": most, **_dead_step(steps, job["State"])}
    runs: list[str] = []
    for row in reversed(accounted):
        requeued = abs(_seconds(job, "Submit") - _seconds(row, "End")) <= _REQUEUED
        if row["JobID"] == job["JobID"] and row is not job and requeued:
            nodes = row.get("FailedNode") or row["NodeList"]
            runs.insert(0, f"{row['State']} on {nodes}")
            if job["State"] == "PENDING" and len(runs) == 1:
                found |= {"Earlier": row["State"], "EarlierNodes": nodes}
            job = row
    return {name: value for name, value in {**found, "Runs": "; ".join(runs)}.items() if value}


def _dead_step(steps: Sequence[dict[str, str]], job: str) -> dict[str, str]:
    """Return the record of the last failed step whose command did not succeed when it was tried again.

    Args:
        steps: the records of the job's steps, in order.
        job: the state of the job.
    """
    done: set[str] = set()
    for step in reversed([step for step in steps if step["JobID"].rpartition(".")[2].isdigit()]):
        state, code, name = step["State"].split(" ")[0], step.get("ExitCode", ""), step.get("JobName", "")
        if state == "COMPLETED":
            done.add(name)
        elif name not in done and (state in _OF_A_STEP or code.rpartition(":")[2] in _CRASHES):
            told = {"Step": f"{step['JobID']} ({name}) {state}", "StepCode": code}
            state = state if state in _OF_A_STEP else "FAILED"
            return {**told, "StepState": state, "StepNodes": step.get("NodeList", "")}
        elif state == job:  # the job failed of this step
            return {}
    return {}


def _seconds(row: dict[str, str], name: str) -> int:
    """Return a time of a record, seconds since the epoch; 0 where it has none."""
    return int(row[name]) if row.get(name, "").isdigit() else 0


def _bytes(text: str) -> float:
    match = re.fullmatch(r"([\d.]+)([KMGT]?)", text)
    return float(match[1]) * 1024.0 ** _UNITS.get(match[2], 0) if match else 0.0
