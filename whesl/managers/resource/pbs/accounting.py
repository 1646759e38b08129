"""Reads and writes lines of PBS's accounting logs: ``date time;type;id;name=value ...``. Pure.

Source: the PBS Administrator's Guide, "Accounting"; src/server/accounting.c of openpbs 23.06.
"""

from __future__ import annotations

import re
import time

import msgspec

from whesl.managers.resource.pbs import records, states

_LINE = re.compile(r"(\d\d/\d\d/\d{4} \d\d:\d\d:\d\d)(?:\.\d+)?;(\w);([^;]*);(.*)", re.DOTALL)
# A "name=value" of an entry. A value with a blank stands in quotes of the kind that the value does not
# contain.
_FIELD = re.compile(r"""([A-Za-z_][\w.]*)=("[^"]*"(?=\s|$)|'[^']*'(?=\s|$)|\S*)""")


class Entry(msgspec.Struct, frozen=True):
    """A log line. ``kind``: Q queued, S started, R rerun, E ended, D deleted, A aborted, and others."""

    time: float
    kind: str
    job: str
    fields: dict[str, str]


def entry(line: str) -> Entry | None:
    """Return a log line's entry, None for other text. Times are read in this host's time zone."""
    found = _LINE.fullmatch(line.rstrip("\r\n"))
    if found is None:
        return None
    try:
        at = time.mktime(time.strptime(found[1], "%m/%d/%Y %H:%M:%S"))
    except (ValueError, OverflowError):
        return None
    fields = {match[1]: _plain(match[2]) for match in _FIELD.finditer(found[4])}
    return Entry(at, found[2], found[3], fields)


def written(one: Entry) -> str:
    """Return an entry's log line, as PBS writes it."""
    at = time.strftime("%m/%d/%Y %H:%M:%S", time.localtime(one.time))
    words = " ".join(f"{name}={_quoted(value)}" for name, value in one.fields.items())
    return f"{at};{one.kind};{one.job};{words}"


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """An ended run of a job; with ``again``, the job was requeued.

    Times are seconds since the epoch, ``limit`` is the time limit in seconds; 0 where they are unknown.
    """

    id: str
    user: str
    queue: str
    nodes: int
    hosts: tuple[str, ...]
    submitted: float
    started: float
    ended: float
    limit: float
    status: int | None
    state: str
    again: bool


def ended(one: Entry) -> Ended | None:
    """Return the ended run of an entry of kind E or R; None for other kinds, and for a job that never ran."""
    fields = one.fields
    started, finished = _number(fields.get("start")), _number(fields.get("end"))
    if one.kind not in ("E", "R") or not started or not finished:
        return None
    status = records.number(fields.get("Exit_status"))
    hosts = records.hosts(fields.get("exec_host", ""))
    return Ended(
        id=one.job,
        user=fields.get("user", ""),
        queue=fields.get("queue", ""),
        nodes=len(hosts) or int(_number(fields.get("Resource_List.nodect"))),
        hosts=hosts,
        submitted=_number(fields.get("ctime")) or _number(fields.get("qtime")),
        started=started,
        ended=finished,
        limit=duration(fields.get("Resource_List.walltime", "")),
        status=states.shell_status(status),
        state=states.job_state("F", None, status).value,
        again=one.kind == "R",
    )


def duration(text: str) -> float:
    """Return the seconds of a duration (``HH:MM:SS``, or a number of seconds), 0 for other text."""
    parts = text.split(":")
    try:
        return sum(float(part) * 60.0**place for place, part in enumerate(reversed(parts)))
    except ValueError:
        return 0.0


def _number(text: str | None) -> float:
    try:
        return float(text or 0)
    except ValueError:
        return 0.0


def _plain(value: str) -> str:
    quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'" and " " in value
    return value[1:-1] if quoted else value


def _quoted(value: str) -> str:
    if " " not in value:
        return value
    quote = "'" if '"' in value else '"'
    return f"{quote}{value}{quote}"
