"""Readers of Slurm's output: ``sacct -P``, ``sacct --json`` and ``sacctmgr -P show event``.

Format: man pages sacct(1) and sacctmgr(1); JSON of data parsers 0.0.38 and later, in which numbers may be
objects with ``set``, ``infinite`` and ``number``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from whesl.lab.readers.failures import Loaded, Malformed
from whesl.lab.readers.outage_records import Found, Outage
from whesl.lab.readers.site_job_records import Clock, JobLog, JobRecord, State, checked, finish, listed, whole
from whesl.model.errors import UsageError, WheslError
from whesl.model.hostlist import expand

Used = TypeVar("Used")
_SACCT = "sacct -aDXP -S START -o JobID,State,Submit,Start,End,TimelimitRaw,NNodes,NodeList"
_EVENTS = "sacctmgr -P show event start=START"
# Columns with free text, in which ``-P`` does not escape a vertical bar.
_FREE = {
    "JobName",
    "Reason",
    "Comment",
    "AdminComment",
    "SystemComment",
    "SubmitLine",
    "WorkDir",
    "Constraints",
}
_STATES = {
    "BOOT_FAIL": State.NODE_FAIL,
    "CANCELLED": State.CANCELLED,
    "COMPLETED": State.COMPLETED,
    "COMPLETING": State.RUNNING,
    "CONFIGURING": State.RUNNING,
    "DEADLINE": State.CANCELLED,
    "FAILED": State.FAILED,
    "LAUNCH_FAILED": State.NODE_FAIL,
    "NODE_FAIL": State.NODE_FAIL,
    "OUT_OF_MEMORY": State.FAILED,
    "PENDING": State.PENDING,
    "PREEMPTED": State.REQUEUED,
    "REQUEUED": State.REQUEUED,
    "RESIZING": State.RUNNING,
    "REVOKED": State.CANCELLED,
    "RUNNING": State.RUNNING,
    "SPECIAL_EXIT": State.FAILED,
    "STOPPED": State.RUNNING,
    "SUSPENDED": State.RUNNING,
    "TIMEOUT": State.TIMEOUT,
}
_LIMIT = re.compile(r"(?:(\d{1,9})-)?(\d{1,9}):(\d\d)(?::(\d\d))?")
_NO_LIMIT = ("", "UNLIMITED", "Partition_Limit", "INVALID")
# States of a node in which Slurm kills the node's jobs.
_FAILURE = re.compile(r"(DOWN|FAIL(?!ING)|ERROR|NO_RESPOND|NOT_RESPONDING)")


def sacct(text: str, path: Path, clock: Clock) -> JobLog:
    """Read ``sacct -P``.

    Args:
        text: the command's output.
        path: the file's path, for messages.
        clock: parser of the times.

    Raises:
        UsageError: a column is missing.
    """
    log = JobLog(path.name, "sacct")
    rows = _rows(text)
    names = next(rows)[1]
    column = _columns(path, names, ("State", "Submit", "Start", "End"), _SACCT)
    identity = _one_of(path, column, ("JobIDRaw", "JobID"), _SACCT)
    size = _one_of(path, column, ("NNodes", "AllocNodes", "ReqNodes"), _SACCT)
    limit = next((column[name] for name in ("TimelimitRaw", "Timelimit") if name in column), None)
    minutes = "TimelimitRaw" in column

    def record(line: int, row: list[str]) -> JobRecord:
        asked = "" if limit is None else row[limit]
        hosts = row[column["NodeList"]] if "NodeList" in column else ""
        return checked(
            JobRecord(
                line,
                row[identity],
                clock.time(row[column["Submit"]]),
                clock.time(row[column["Start"]]),
                clock.time(row[column["End"]]),
                whole(row[size], names[size]),
                "" if hosts == "None assigned" else hosts,
                _minutes(asked) if minutes else seconds(asked),
                state(row[column["State"]]),
                row[column["User"]] if "User" in column else "",
                row[column["Partition"]] if "Partition" in column else "",
            )
        )

    for line, row in rows:
        log.lines += 1
        if "." in row[identity]:
            log.elsewhere["step"] += 1
            continue
        try:
            log.jobs.append(_mended(row, names, partial(record, line)))
        except ValueError as error:
            log.malformed.append(Malformed(line, str(error)))
    return log


def sacct_json(text: str, path: Path, clock: Clock) -> JobLog:
    """Read ``sacct --json``.

    Args:
        text: the command's output.
        path: the file's path, for messages.
        clock: parser of the times.

    Raises:
        UsageError: the text is other JSON.
    """
    return listed(text, path, "sacct-json", "sacct -aD --json -S START", _of_object)


def _of_object(entry: int, job: dict[str, Any]) -> JobRecord:
    times, current = job["time"], job["state"]["current"]
    limit = number(times["limit"])
    nodes = number(job["allocation_nodes"]) or 0.0
    if not nodes:
        asked = [number(one["count"]) for one in job["tres"]["requested"] if one["type"] == "node"]
        nodes = asked[0] or 0.0 if asked else 0.0
    hosts = str(job.get("nodes") or "")
    return JobRecord(
        entry,
        str(int(job["job_id"])),
        number(times["submission"]) or math.nan,
        number(times["start"]) or math.nan,
        number(times["end"]) or math.nan,
        int(nodes),
        "" if hosts == "None assigned" else hosts,
        math.inf if limit is None or limit >= 2**32 - 2 else 60.0 * limit,
        state(current[0] if isinstance(current, list) else current),
        str(job.get("user") or ""),
        str(job.get("partition") or ""),
    )


def number(value: Any) -> float | None:
    """Return a number in Slurm's JSON, plain or as an object; None if the number is not set or infinite.

    Raises:
        TypeError: the value is neither a number nor such an object.
    """
    if isinstance(value, dict):
        return float(value["number"]) if value.get("set") and not value.get("infinite") else None
    if value is None:
        return None
    if isinstance(value, (int, float)):
        return float(value)
    raise TypeError(f"not a number: {value!r}")


def state(text: str) -> State:
    """Return the state for Slurm's name of a job's state; raise ValueError for an unknown name."""
    word = text.split()[0].rstrip("+") if text.split() else ""
    if word not in _STATES:
        raise ValueError(f"unknown state {text[:30]!r}")
    return _STATES[word]


def seconds(text: str) -> float:
    """Return a limit [DAYS-]HOURS:MINUTES[:SECONDS] in seconds, ``inf`` for none; ValueError for others."""
    if text in _NO_LIMIT:
        return math.inf
    parts = _LIMIT.fullmatch(text)
    if parts is None:
        raise ValueError(f"time limit {text[:30]!r} is not [DAYS-]HOURS:MINUTES:SECONDS")
    days, hours, minutes, rest = (int(part or 0) for part in parts.groups())
    if parts[4] is None:
        return 60.0 * hours + minutes
    return 86400.0 * days + 3600.0 * hours + 60.0 * minutes + rest


def _minutes(text: str) -> float:
    if text in _NO_LIMIT:
        return math.inf
    return 60.0 * whole(text, "TimelimitRaw")


# Regular expressions for reasons of drains that count as failures. LBNL's Node Health Check writes reasons
# that begin with "NHC: " and the check's name. ``nhc-hardware`` excludes the checks that users' jobs can
# fail: processes, full disks, load.
DRAINS = {
    "nhc": r"^NHC:",
    "nhc-hardware": r"^NHC:\s+check_"
    r"(hw_(cpuinfo|physmem(?!_free)|ib|eth|gm|mcelog)|nv_|nvsmi_|dmi_|fs_mount)",
}


def events(
    text: str, path: Path, clock: Clock, *, leave_out: str = "", take: str = "", strict: bool = False
) -> Loaded:
    """Read ``sacctmgr -P show event``: a node fails while down; drains and power-downs are only counted.

    Args:
        text: the command's output.
        path: the file's path, for messages.
        clock: parser of the times.
        leave_out: a regular expression; events with a matching reason are counted but are no failures.
        take: a regular expression, or a name of ``DRAINS``; drains with a matching reason are failures also.
        strict: whether a line that cannot be read is an error.

    Raises:
        UsageError: a column is missing, or a line is malformed and ``strict`` is set.
    """
    rows = _rows(text)
    names = next(rows)[1]
    column = _columns(path, names, ("NodeName", "State"), _EVENTS)
    begun = _one_of(path, column, ("TimeStart", "Start"), _EVENTS)
    over = _one_of(path, column, ("TimeEnd", "End"), _EVENTS)
    excluded = re.compile(leave_out) if leave_out else None
    taken = re.compile(DRAINS.get(take, take)) if take else None
    found = Found()

    def outage(row: list[str]) -> tuple[tuple[str, ...], float, float]:
        start, end = clock.time(row[begun]), clock.time(row[over])
        if math.isnan(start):
            raise ValueError("no time of its begin")
        if end < start:
            raise ValueError(f"node {row[column['NodeName']]} is back before it failed: its times go back")
        return expand(row[column["NodeName"]]), start, math.inf if math.isnan(end) else end

    for line, row in rows:
        found.lines += 1
        try:
            nodes, start, end = _mended(row, names, outage)
        except ValueError as error:
            found.malformed.append(Malformed(line, str(error)))
            continue
        found.moments += [start] if math.isinf(end) else [start, end]
        found.known.update(nodes)
        what, reason = row[column["State"]], row[column["Reason"]] if "Reason" in column else ""
        if not nodes:
            found.elsewhere["of the cluster"] += 1
            if "Cluster Nodes" in column:
                found.known.update(expand(row[column["Cluster Nodes"]]))
        elif not _FAILURE.match(what) and not (taken and "DRAIN" in what and taken.search(reason)):
            found.elsewhere[what] += 1
        elif excluded is not None and excluded.search(reason):
            found.elsewhere["left out by their reason"] += 1
        else:
            found.outages += [Outage(node, start, end, reason) for node in nodes]
    finish(found.malformed, found.lines, path, "line", strict=strict)
    if not found.moments:
        raise WheslError(f"{path}: no event in {found.lines} lines", hint=f"accepted: `{_EVENTS}`")
    return found.loaded("sacctmgr")


def is_events(line: str) -> bool:
    """Whether a text's first line is the header of ``sacctmgr -P show event``."""
    return "NodeName" in line.split("|") and "State" in line.split("|")


# Rows of Slurm's tables ----------------------------------------------------------------------------------


def _rows(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield each line's number and fields; the bar with which ``-p`` ends each line is removed."""
    ended = text.partition("\n")[0].rstrip("\r").endswith("|")
    for line, row in enumerate(text.lstrip("\ufeff").splitlines(), 1):
        if row:
            yield line, (row[:-1] if ended and row.endswith("|") else row).split("|")


def _columns(path: Path, names: list[str], needed: tuple[str, ...], command: str) -> dict[str, int]:
    column = {name: place for place, name in enumerate(names)}
    for name in needed:
        if name not in column:
            raise UsageError(f"{path}:1: no column {name}", hint=f"accepted: `{command}`")
    return column


def _one_of(path: Path, column: dict[str, int], names: tuple[str, ...], command: str) -> int:
    for name in names:
        if name in column:
            return column[name]
    raise UsageError(f"{path}:1: no column {' or '.join(names)}", hint=f"accepted: `{command}`")


def _mended(row: list[str], names: list[str], use: Callable[[list[str]], Used]) -> Used:
    """Pass a row to ``use``; where a free text contains bars, join the parts of that text first.

    Raises:
        ValueError: ``use`` rejects the row however its fields are joined.
    """
    surplus = len(row) - len(names)
    if surplus == 0:
        return use(row)
    reason = f"{len(row)} fields where {len(names)} are needed"
    for place, name in enumerate(names if surplus > 0 else ()):
        if name in _FREE:
            joined = [*row[:place], "|".join(row[place : place + surplus + 1]), *row[place + surplus + 1 :]]
            try:
                used = use(joined)
            except ValueError as error:
                reason = str(error)
            else:
                row[:] = joined
                return used
    raise ValueError(reason)
