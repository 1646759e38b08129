"""The outcome of a Slurm job, from ``sacct``, and ``scontrol show job`` while the controller knows it."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path

from whesl.managers.resource.outcomes import slurm_accounting
from whesl.managers.resource.outcomes.record import JobOutcome, Run
from whesl.managers.resource.outcomes.slurm_written_files import written_files
from whesl.managers.resource.slurm.slurm_command_output import output_files
from whesl.model.errors import WheslError

JOB = re.compile(r"\d+(?:[_+]\d+)?")
_TOLD = ("State", "Reason", "ExitCode", "MaxRSS", "ReqMem", "Timelimit", "Elapsed", "NodeList")
_FAILED = frozenset({"FAILED", "TIMEOUT", "OUT_OF_MEMORY", "NODE_FAIL", "BOOT_FAIL", "DEADLINE"})
_OF_A_NODE = frozenset({"OUT_OF_MEMORY", "NODE_FAIL", "BOOT_FAIL"})  # states that something on a node causes
_ONE_NODE = re.compile(r"[\w.-]+")


def outcome(job: str, run: Run) -> JobOutcome | None:
    """Return Slurm's report on a job, None when Slurm does not know the job.

    For a whole array (``12``) the report covers the first failed element, or else one of the others. A step
    that died counts where its job does not tell of it: a script often ends with another exit status.

    Args:
        job: the job's id, also that of an array element or of a part of a heterogeneous job.
        run: runs Slurm's commands.

    Raises:
        WheslError: neither the controller nor the accounting knows the job.
    """
    accounted = slurm_accounting.records_of(job, run)
    newest = {row["JobID"]: row for row in accounted if "." not in row["JobID"]}
    try:
        shown = run("scontrol", "show", "job", job)
    except WheslError:
        if not newest:
            raise
        row = _first_failed(list(newest.values()))
        writer = row["JobID"].partition("+")[0]  # the first part writes the output of all
        return _outcome(
            slurm_accounting.with_runs_and_dead_step(row, accounted),
            _default_output(writer, row),
            _script(writer, run),
        )
    rows = [
        {**words, "State": words["JobState"], "Timelimit": words.get("TimeLimit", "")}
        for block in shown.split("\n\n")
        if "JobState" in (words := dict(word.partition("=")[::2] for word in block.split()))
    ]
    if not rows:
        return None
    words = _first_failed(rows)
    leader = words.get("HetJobId", "")
    element = f"{words.get('ArrayJobId', '')}_{words.get('ArrayTaskId', '')}"
    if leader not in ("", words.get("JobId")):  # the leader's script writes the output of all parts
        shown, element = run("scontrol", "show", "job", leader), leader
    files = output_files(shown, element) or output_files(shown, words.get("JobId", job))
    script = _script(leader or words.get("JobId", job), run)
    names = (words.get("JobId", ""), element, f"{leader}+{words.get('HetJobOffset', '')}")
    for row in (newest[name] for name in names if name in newest):
        # Only the accounting says who cancelled a job; it may be late.
        state = row["State"] if row["State"].startswith(words["State"]) else words["State"]
        words = {**slurm_accounting.with_runs_and_dead_step(row, accounted), **words, "State": state}
    return _outcome(words, files, script)


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
    state = words["State"].split(" ")[0].rstrip("+")
    status, nodes = words.get("ExitCode", ""), words.get("NodeList", "")
    if state in ("COMPLETED", "FAILED") and "Step" in words:
        state, status, nodes = words["StepState"], words["StepCode"], words["StepNodes"]
    elif state == "PENDING" and "Earlier" in words:
        state, nodes = words["Earlier"].split(" ")[0], words["EarlierNodes"]
    code, _, signal = status.partition(":")
    told = [f"{name}={words[name]}" for name in _TOLD if words.get(name)]
    if "Step" in words:
        told.append(f"step {words['Step']} ExitCode={words['StepCode']}")
    if "Runs" in words:
        told.append(f"earlier runs: {words['Runs']}")
    failed = words.get("FailedNode") or nodes
    return JobOutcome(
        state=state,
        status=128 + int(signal)
        if signal.isdigit() and int(signal)
        else int(code)
        if code.isdigit()
        else None,
        node=failed if state in _OF_A_NODE and _ONE_NODE.fullmatch(failed) else None,
        told=", ".join(told),
        files=files,
        globs=written_files(words.get("SubmitLine", ""), script or "", words),
        since=_since(words),
        hidden=_hidden(state, script),
    )


def _hidden(state: str, script: str | None) -> str:
    if state == "REVOKED":
        return "another cluster of the federation runs it"
    return (
        "" if script is not None else "Slurm does not have its script, whose steps may write to other files"
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
