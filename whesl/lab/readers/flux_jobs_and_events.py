"""Readers of Flux's output: ``flux jobs -a --json`` and ``flux resource eventlog`` (text or JSON).

Format: man pages flux-jobs(1) and flux-resource(1); events: Flux RFC 18 (eventlog) and RFC 28 (resources).
"""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

from whesl.lab.readers.failures import Loaded, Malformed
from whesl.lab.readers.outage_records import Found, Outage
from whesl.lab.readers.site_job_records import Clock, JobLog, JobRecord, State, finish, listed
from whesl.model.errors import UsageError, WheslError
from whesl.model.hostlist import expand, idset

_EVENT = re.compile(r"(\d+\.\d+) ([a-z-]+)((?: [a-z_-]+=.*)?)$")
_PAIR = re.compile(r" ([a-z_-]+)=")
_RESULTS = {
    "COMPLETED": State.COMPLETED,
    "FAILED": State.FAILED,
    "CANCELED": State.CANCELLED,
    "TIMEOUT": State.TIMEOUT,
}


def is_jobs(text: str) -> bool:
    """Whether a JSON text is Flux's list of jobs rather than Slurm's."""
    return '"t_submit"' in text[:100_000]


def jobs(text: str, path: Path, clock: Clock) -> JobLog:
    """Read ``flux jobs -a --json``.

    Args:
        text: the command's output.
        path: the file's path, for messages.
        clock: not used; Flux's times are Unix seconds.

    Raises:
        UsageError: the text is other JSON.
    """
    return listed(text, path, "flux", "flux jobs -a --json", _record)


def _record(entry: int, job: dict[str, Any]) -> JobRecord:
    exception = job.get("exception") or {}
    if job["state"] == "INACTIVE":
        state = _RESULTS[job["result"]]
        if exception.get("type") == "exec" and str(exception.get("note", "")).startswith("node failure"):
            state = State.NODE_FAIL
    else:
        state = State.RUNNING if job["state"] in ("RUN", "CLEANUP") else State.PENDING
    start = float(job.get("t_run") or math.nan)
    # The begin of a job's clean-up is taken as its end: the job's processes have ended then.
    end = float(job.get("t_cleanup") or job.get("t_inactive") or math.nan)
    return JobRecord(
        entry,
        str(job["id"]),
        float(job["t_submit"]),
        start,
        end if job["state"] == "INACTIVE" and not math.isnan(start) else math.nan,
        int(job.get("nnodes") or 0),
        str(job.get("nodelist") or ""),
        float(job.get("duration") or math.inf),
        state,
    )


def is_eventlog(line: str) -> bool:
    """Whether a text's first line is an entry of a resource eventlog."""
    return _EVENT.match(line) is not None or (line.startswith('{"timestamp"') and '"name"' in line)


def eventlog(text: str, path: Path, clock: Clock, *, leave_out: str = "", strict: bool = False) -> Loaded:
    """Read ``flux resource eventlog``: a node fails while offline; drained nodes are only counted.

    Args:
        text: the command's output.
        path: the file's path, for messages.
        clock: not used; Flux's times are Unix seconds.
        leave_out: not used; Flux records no reason for an offline node.
        strict: whether a line that cannot be read is an error.

    Raises:
        UsageError: no entry says which nodes are online, or a line is malformed and ``strict`` is set.
    """
    names: dict[int, str] = {}
    online: set[int] = set()
    down: dict[int, float] = {}
    outages: list[tuple[int, float, float]] = []
    found = Found()
    for line, row in enumerate(text.splitlines(), 1):
        if not row.strip():
            continue
        found.lines += 1
        try:
            time, name, context = _event(row)
            named = str(context.get("idset", context.get("ranks", "")))
            ranks = idset(named) if named else []
            if "nodelist" in context:
                names.update(zip(ranks, expand(str(context["nodelist"])), strict=True))
        except ValueError as error:
            found.malformed.append(Malformed(line, str(error)))
            continue
        found.moments.append(time)
        if name == "online":
            back = [(rank, down.pop(rank)) for rank in ranks if rank in down]
            if early := [rank for rank, start in back if time < start]:
                why = f"rank {early[0]} is back before it failed: its times go back"
                found.malformed.append(Malformed(line, why))
            outages += [(rank, start, max(time, start)) for rank, start in back]
            online.update(ranks)
        elif name == "offline":
            down.update((rank, time) for rank in ranks if rank in online and rank not in down)
        else:
            found.elsewhere[name] += 1
        if name == "restart":
            # The whole Flux instance stopped, which is no failure of a node.
            online.clear()
    finish(found.malformed, found.lines, path, "line", strict=strict)
    if not found.moments:
        raise WheslError(
            f"{path}: no event in {found.lines} lines", hint="accepted: `flux resource eventlog`"
        )
    if not online:
        raise UsageError(
            f"{path}: no event says which nodes are online",
            hint="`flux resource eventlog` tells of them; its copy in the key-value store does not",
        )
    outages += [(rank, time, math.inf) for rank, time in down.items()]
    found.outages = [
        Outage(names.get(rank, str(rank)), start, end, "offline") for rank, start, end in outages
    ]
    found.known = {names.get(rank, str(rank)) for rank in {*names, *online}}
    return found.loaded("flux")


def _event(row: str) -> tuple[float, str, dict[str, Any]]:
    """Return an event's time, name and context; raise ValueError if the line is no event."""
    if row.startswith("{"):
        try:
            found = json.loads(row)
            return float(found["timestamp"]), str(found["name"]), dict(found.get("context") or {})
        except (ValueError, KeyError, TypeError, RecursionError):
            raise ValueError("not an event with timestamp, name and context") from None
    parts = _EVENT.match(row)
    if parts is None:
        raise ValueError("not an event: TIMESTAMP NAME [KEY=VALUE]...")
    context: dict[str, Any] = {}
    rest = parts[3]
    decoder = json.JSONDecoder()
    while pair := _PAIR.match(rest):
        try:
            context[pair[1]], end = decoder.raw_decode(rest, pair.end())
        except ValueError:
            raise ValueError(f"the value of {pair[1]} is no JSON") from None
        rest = rest[end:]
    return float(parts[1]), parts[2], context
