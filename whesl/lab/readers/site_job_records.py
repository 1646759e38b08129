"""Job records of a site: times, nodes, limits and final states; readers of SWF logs and plain tables."""

from __future__ import annotations

import csv
import enum
import io
import json
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Any, NamedTuple

from whesl.files.packed_text import unpacked
from whesl.lab.readers.failures import Malformed
from whesl.lab.readers.swf import parse
from whesl.model.errors import UsageError

COLUMNS = ("job", "submit", "start", "end", "nodes")


class State(enum.Enum):
    """The state of an attempt at a job: how it ended, running, or pending."""

    COMPLETED = "completed"
    FAILED = "failed"
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"
    NODE_FAIL = "node failure"
    REQUEUED = "requeued"
    RUNNING = "running"
    PENDING = "pending"


class JobRecord(NamedTuple):
    """One attempt at a job.

    Attributes:
        line: number of the record's line, or of its entry in a JSON list, from 1.
        job: the site's identifier; attempts at one job share it.
        submit: time of submission, in seconds since 1970.
        start: start, in seconds since 1970; nan if the attempt has not started.
        end: end, in seconds since 1970; nan if the attempt has not ended.
        nodes: number of nodes, allocated or requested.
        hosts: names of the nodes as a host list; empty if unknown.
        limit: the job's time limit in seconds; ``inf`` for none.
        state: the attempt's state.
        user: the job's owner; empty if unknown.
        partition: the job's partition; empty if unknown.
    """

    line: int
    job: str
    submit: float
    start: float
    end: float
    nodes: int
    hosts: str
    limit: float
    state: State
    user: str = ""
    partition: str = ""


@dataclass(slots=True)
class JobLog:
    """The content of a job log.

    Attributes:
        name: the file's name.
        format: ``sacct``, ``sacct-json``, ``flux``, ``pbs``, ``swf`` or ``csv``.
        unit: what ``line`` counts: "line" or "entry".
        jobs: the records in the file's order.
        lines: number of lines or entries that hold a record, readable or not.
        malformed: the lines or entries that cannot be read.
        elsewhere: number of records that are no jobs, by kind of record.
    """

    name: str
    format: str
    unit: str = "line"
    jobs: list[JobRecord] = field(default_factory=list)
    lines: int = 0
    malformed: list[Malformed] = field(default_factory=list)
    elsewhere: Counter[str] = field(default_factory=Counter)


class Clock:
    """A parser of times as resource managers print them.

    Args:
        zone: time zone of times that name none; None for this machine's zone.
    """

    def __init__(self, zone: tzinfo | None = None) -> None:
        self._zone = zone
        self._hours: dict[str, float] = {}

    def time(self, text: str) -> float:
        """Return seconds since 1970; nan for a missing time (Unknown, None, N/A, empty).

        Raises:
            ValueError: the text is no time.
        """
        if text in ("", "Unknown", "None", "N/A", "NONE"):
            return math.nan
        if len(text) == 19 and text[10] == "T":
            # The zone's rules are looked up once per hour of the log, since most times share their hour.
            hour = self._hours.get(text[:13])
            if hour is None:
                hour = self._hours[text[:13]] = self._parsed(f"{text[:13]}:00:00")
            minute, second = text[14:16], text[17:]
            if (
                text[13] == text[16] == ":"
                and minute.isdecimal()
                and second.isdecimal()
                and max(minute, second) < "60"
            ):
                return hour + 60 * int(minute) + int(second)
        try:
            number = float(text)
        except ValueError:
            return self._parsed(text)
        if not math.isfinite(number):
            raise ValueError(f"not a time: {text!r}")
        return number

    def _parsed(self, text: str) -> float:
        try:
            moment = datetime.fromisoformat(text)
            if moment.tzinfo is None and self._zone is not None:
                moment = moment.replace(tzinfo=self._zone)
            return moment.timestamp()
        except (ValueError, OverflowError, OSError):
            raise ValueError(f"not a time: {text[:30]!r} (2026-11-23T04:54:34 or Unix seconds)") from None


def content(path: Path) -> str:
    """Return a file's text, decompressed.

    Raises:
        WheslError: the file cannot be read, or is damaged.
    """
    return unpacked(path).decode("utf-8", "replace")


def listed(
    text: str, path: Path, form: str, command: str, record: Callable[[int, dict[str, Any]], JobRecord]
) -> JobLog:
    """Read a JSON object with a list ``jobs``, as Slurm and Flux print it.

    Args:
        text: the JSON text.
        path: the file's path, for messages.
        form: name of the log's format.
        command: the command that prints this JSON, for messages.
        record: makes a job from an entry's number and object; raises ValueError, KeyError, TypeError,
            AttributeError or OverflowError for a malformed entry.

    Raises:
        UsageError: the text is other JSON.
    """
    try:
        found = json.loads(text)["jobs"]
        if not isinstance(found, list):
            raise TypeError
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise UsageError(
            f"{path}: JSON without a list of jobs: {error}", hint=f"accepted: `{command}`"
        ) from None
    log = JobLog(path.name, form, "entry")
    for entry, job in enumerate(found, 1):
        log.lines += 1
        try:
            log.jobs.append(checked(record(entry, job)))
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
            log.malformed.append(Malformed(entry, f"no job of `{command}`: {error}"))
    return log


def finish(malformed: list[Malformed], lines: int, path: Path, unit: str, *, strict: bool) -> None:
    """Raise UsageError if there are malformed lines and ``strict`` is set.

    Args:
        malformed: the malformed lines or entries.
        lines: number of lines or entries.
        path: the file's path, for messages.
        unit: what ``lines`` counts: "line" or "entry".
        strict: whether a malformed line is an error.
    """
    if malformed and strict:
        first = malformed[0]
        raise UsageError(
            f"{path}: {unit} {first.line}: {first.why}; {len(malformed)} of {lines} cannot be read",
            hint="without --strict they are left out and counted",
        )


def table(text: str, path: Path, clock: Clock) -> JobLog:
    """Read a table that begins with ``job,submit,start,end,nodes``; times in seconds or ISO 8601.

    Args:
        text: the table.
        path: the file's path, for messages.
        clock: parser of the times.

    Raises:
        UsageError: a column is unknown.
    """
    log = JobLog(path.name, "csv")
    lines = io.StringIO(text.lstrip("\ufeff"))
    names = [name.strip().lower() for name in lines.readline().split(",")]
    known = {*COLUMNS, "limit", "state", "hosts"}
    if unknown := [name for name in names if name not in known]:
        raise UsageError(
            f"{path}:1: unknown column {unknown[0]!r}", hint=f"known: {', '.join(sorted(known))}"
        )
    reader = csv.DictReader(lines, names, skipinitialspace=True)
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return log
        except csv.Error as error:
            log.lines += 1
            log.malformed.append(Malformed(reader.line_num + 1, str(error)))
            continue
        log.lines += 1
        try:
            log.jobs.append(_of_row(row, reader.line_num + 1, clock))
        except ValueError as error:
            log.malformed.append(Malformed(reader.line_num + 1, str(error)))


def _of_row(row: dict[str, str], line: int, clock: Clock) -> JobRecord:
    if any(row.get(name) is None for name in COLUMNS) or None in row:
        raise ValueError("not as many fields as the first line has")
    state = (row.get("state") or "completed").strip().lower().replace("_", " ")
    start, end = clock.time(row["start"].strip()), clock.time(row["end"].strip())
    asked = (row.get("limit") or "").strip()
    limit = float(asked) if asked else math.inf
    if not limit > 0:
        raise ValueError(f"limit is no time above 0: {asked[:20]!r}")
    record = JobRecord(
        line,
        row["job"].strip(),
        clock.time(row["submit"].strip()),
        start,
        end,
        whole(row["nodes"].strip(), "nodes"),
        (row.get("hosts") or "").strip(),
        limit,
        State({"node fail": "node failure", "canceled": "cancelled"}.get(state, state)),
    )
    return checked(record)


def whole(text: str, what: str) -> int:
    """Parse a whole number; raise ValueError, with ``what`` as the number's name, for other text.

    Args:
        text: the text.
        what: the number's name, for messages.
    """
    if not text.isdecimal() or len(text) > 18:
        raise ValueError(f"{what} is no whole number: {text[:20]!r}")
    return int(text)


def checked(record: JobRecord) -> JobRecord:
    """Return the record if its times are in order.

    Raises:
        ValueError: the times are out of order, or there is no time of submission.
    """
    if math.isnan(record.submit):
        raise ValueError("no submit time")
    if record.end < record.start:
        raise ValueError(f"it ends {record.start - record.end:g} s before it starts: its times go back")
    if record.start < record.submit - 1:
        raise ValueError(f"it starts {record.submit - record.start:g} s before its submission")
    return record


_SWF_STATES = {0: State.FAILED, 1: State.COMPLETED, 5: State.CANCELLED}


def swf_log(text: str, path: Path, clock: Clock) -> JobLog:
    """Read an SWF log: processors count as nodes, and an unknown status counts as completed.

    Args:
        text: the log's text.
        path: the file's path, for messages.
        clock: not used; times in SWF are seconds.
    """
    found = parse(text.encode(), path.name)
    log = JobLog(path.name, "swf", lines=len(found) + len(found.malformed))
    log.malformed = list(found.malformed)
    epoch = found.epoch
    rows = zip(found.line.tolist(), *found.values.tolist(), strict=True)
    for line, job, submit, wait, run, allocated, _, _, requested, limit, _, status, *_ in rows:
        if status in (2, 3, 4):
            log.elsewhere["part of a job that has a line of its own"] += 1
            continue
        size = int(requested if requested > 0 else allocated)
        start = epoch + submit + max(wait, 0.0)
        log.jobs.append(
            JobRecord(
                line,
                str(int(job)),
                epoch + submit,
                start if run >= 0 else math.nan,
                start + run if run >= 0 else math.nan,
                max(size, 0),
                "",
                limit if limit > 0 else math.inf,
                _SWF_STATES.get(int(status), State.COMPLETED),
            )
        )
    return log
