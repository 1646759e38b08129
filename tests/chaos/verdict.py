"""What has to hold at the end: by the ledger, the disks, the scheduler and the product's own commands."""

from __future__ import annotations

import json
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from tests.chaos.cluster import WHESL
from tests.chaos.director import HARMLESS, KINDS, Fault
from tests.chaos.observing import Process, Queued
from tests.chaos.workload import Job, Places, expected
from whesl.runtime.journal.sqlite_errors import JournalError
from whesl.runtime.journal.store import Journal

_COMPLETED = "completed"


class Verdict(msgspec.Struct, kw_only=True):
    """``wrong`` is empty when everything held. ``failed``: tasks that failed as their rules ask, and why."""

    wrong: list[str] = []
    completed: list[str] = []
    failed: dict[str, str] = {}
    cancelled: list[str] = []
    exceptions: dict[str, int] = {}
    runs: int = 0
    again: int = 0


def read_ledger(places: Places, job: Job) -> list[dict[str, Any]]:
    """Return what a task's ranks have said, in order."""
    try:
        text = (places.ledger / f"{job.name}.jsonl").read_text()
    except FileNotFoundError:
        return []
    return [json.loads(line) for line in text.splitlines()]


def output_faults(places: Places, job: Job, state: str, parts: Mapping[str, bytes]) -> list[str]:
    """Return what is wrong with a finished task's output: wherever it was moved, it has to be whole."""
    relative = places.relative(job.name)
    whole = False
    wrong = []
    for root in places.roots:
        place = root / relative
        try:
            result = json.loads((place / "result.json").read_text())
        except (FileNotFoundError, NotADirectoryError):
            continue
        if result != {"task": job.name, "state": state}:
            wrong.append(f"{job.name}: wrong result in {place}")
            continue
        lacking = [name for name, data in parts.items() if _differs(place / name, data)]
        if lacking:
            wrong.append(f"{job.name}: {', '.join(lacking)} missing or wrong in {place}")
        whole = whole or not lacking
    return wrong if wrong or whole else [f"{job.name}: there is no result"]


def _differs(path: Path, data: bytes) -> bool:
    try:
        return path.read_bytes() != data
    except OSError:
        return True


def ledger_faults(
    job: Job, lines: Iterable[Mapping[str, Any]], finished: float | None, state: str
) -> list[str]:
    """Return what the ledger has against a task that completed.

    Args:
        job: the task.
        lines: what its ranks said.
        finished: when its isolator wrote its end down (seconds since the epoch).
        state: what has to come out.
    """
    wrong = overlaps(job, lines)
    ends = [line for line in lines if line["event"] == "end"]
    if not ends:
        wrong.append(f"{job.name}: completed without having reached its end")
    if any(line["state"] != state for line in ends):
        wrong.append(f"{job.name}: a run ended with a wrong state")
    late = [line for line in lines if finished is not None and line["time"] > finished]
    if late:
        wrong.append(f"{job.name}: {late[0]['event']} on {late[0]['node']} after its end was written down")
    return wrong


def overlaps(job: Job, lines: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return one line for each time that two runs of a task were alive at once."""
    return [
        f"{job.name}: a run started on {line['node']} (job {line['job']}, restart {line['restarts']}) while "
        "another was alive"
        for line in lines
        if line["event"] == "overlap"
    ]


def judge(
    jobs: tuple[Job, ...],
    places: Places,
    environment: Mapping[str, str],
    status: int | None,
    queue: list[Queued],
    left: list[Process],
    hit: list[tuple[Fault, tuple[str, ...]]],
) -> Verdict:
    """Return what held and what did not, once everything has come to rest.

    Args:
        jobs: the workflow.
        places: its directories.
        environment: in which the product's commands find the workflow.
        status: exit status of ``whesl run``, None when it did not end.
        queue: the scheduler's jobs.
        left: processes of the product and of tasks that still live, the coordinator left out.
        hit: the faults and the tasks that they hit.
    """
    verdict = Verdict()
    wrong = verdict.wrong
    if status is None:
        wrong.append("whesl run did not end")
    wrong += [f"job {job.job} ({job.name}) is {job.state}" for job in queue if job.state in _LIVING]
    wrong += [f"process {p.pid} ({p.role} of {p.task or 'job ' + p.job}) lives on" for p in left]
    wrong += journal_faults(Path(environment["WHESL_HOME"]))
    report = _told(wrong, environment, "report", "--json")
    _told(wrong, environment, "status", "--json")
    _told(wrong, environment, "events", "--json", lines=True)
    if report is None:
        return verdict
    rows = {row["step"]: row for row in report["tasks"]}
    verdict.exceptions = dict(Counter(row["exception"] for row in report["exceptions"]))
    if hit and verdict.exceptions and all(fault.kind in HARMLESS for fault, _ in hit):
        wrong.append(f"exceptions of healthy tasks: {verdict.exceptions}")
    outcomes = expected(jobs)
    nodes_lost = Counter(
        task
        for fault, tasks in hit
        for task in tasks
        if fault.kind in ("node killed", "node cut off", "node unheard", "node predicted")
    )
    bad: set[str] = set()
    for job in jobs:
        row, lines = rows.get(job.name), read_ledger(places, job)
        slurm = [q.state for q in queue if q.name == job.name]
        verdict.runs += len({line["token"] for line in lines})
        if row is None or len(slurm) != 1:
            wrong.append(f"{job.name}: jobs {slurm}, in the report: {row is not None}")
            continue
        verdict.again += bool(row["run_again"])
        if row["state"] == _COMPLETED:
            verdict.completed.append(job.name)
            if slurm != ["COMPLETED"]:
                wrong.append(f"{job.name}: completed, but its job is {slurm[0]}")
            wrong += ledger_faults(job, lines, row["ended"], outcomes[job.name][0])
            wrong += output_faults(places, job, *outcomes[job.name])
        elif bad & set(job.after) and not lines and slurm == ["CANCELLED"]:
            verdict.cancelled.append(job.name)
            bad.add(job.name)
        else:
            bad.add(job.name)
            wrong += overlaps(job, lines)
            why = f"{row['state']}: {row['reason']}"
            if failure_asked(job, row, report["exceptions"], nodes_lost[job.name]) and slurm != ["COMPLETED"]:
                verdict.failed[job.name] = why
            else:
                wrong.append(f"{job.name}: {why} (its job: {slurm[0]}), which its rules did not ask for")
    if status is not None and (status == 0) != (not bad):
        wrong.append(f"whesl run ended with {status}, and {len(bad)} tasks did not complete")
    return verdict


_LIVING = ("PENDING", "RUNNING", "COMPLETING", "CONFIGURING", "SUSPENDED", "STOPPED", "REQUEUED")


def failure_asked(
    job: Job, row: Mapping[str, Any], exceptions: Iterable[Mapping[str, Any]], nodes_lost: int
) -> bool:
    """Whether a failed task's own rules ask for that, and the faults that it had are enough for it."""
    if row["state"] != "failed" or not row["reason"]:
        return False
    fragile = sum(e["exception"] == "FRAGILE" and e["task"] == row["task"] for e in exceptions)
    if job.fragile and fragile:
        return nodes_lost >= 1
    return "run again already" in row["reason"] and nodes_lost >= 2


def journal_faults(home: Path) -> list[str]:
    """Return the journals that cannot be read to their end, or that were damaged."""
    wrong = []
    for path in sorted(home.rglob("journal.db")):
        try:
            with Journal(path, read_only=True) as journal:
                kinds = [record.kind for record in journal.read()]
        except JournalError as error:
            wrong.append(f"{path}: {error}")
            continue
        if not kinds or "damaged" in kinds:
            wrong.append(f"{path}: {'empty' if not kinds else 'damaged'}")
    return wrong


def _told(wrong: list[str], environment: Mapping[str, str], *words: str, lines: bool = False) -> Any:
    """Return what a command of the product prints, None when it could not be had."""
    try:
        done = subprocess.run(
            [WHESL, *words], env=dict(environment), capture_output=True, text=True, timeout=120, check=False
        )
        if done.returncode == 0:
            text = done.stdout
            return [json.loads(line) for line in text.splitlines()] if lines else json.loads(text)
        wrong.append(f"whesl {' '.join(words)}: status {done.returncode}: {done.stderr.strip()[-400:]}")
    except (subprocess.TimeoutExpired, ValueError) as error:
        wrong.append(f"whesl {' '.join(words)}: {error}")
    return None


def by_kind(hit: list[tuple[Fault, tuple[str, ...]]], verdict: Verdict) -> list[dict[str, Any]]:
    """Return what came of the faults of each kind.

    ``hit``: tasks that ran where it happened, counted for each fault; ``survived`` of them completed in the
    end, ``failed`` visibly, as their rules ask.
    """
    rows: dict[str, Counter[str]] = defaultdict(Counter)
    for fault, tasks in hit:
        row = rows[fault.kind]
        row["injected"] += 1
        row["hit"] += len(tasks)
        row["survived"] += sum(task in verdict.completed for task in tasks)
        row["failed"] += sum(task in verdict.failed for task in tasks)
    columns = ("injected", "hit", "survived", "failed")
    return [{"kind": kind, **{c: rows[kind][c] for c in columns}} for kind in KINDS if kind in rows]
