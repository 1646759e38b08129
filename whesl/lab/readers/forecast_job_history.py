"""Readers of job logs for free-node forecasts: sizes, users, partitions, and the covered time."""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from whesl.files.packed_text import unpacked
from whesl.lab.readers import swf
from whesl.lab.readers.failures import told
from whesl.lab.readers.site_job_records import Clock, State, content
from whesl.lab.readers.site_log_format_detection import read_jobs
from whesl.model.errors import UsageError, WheslError
from whesl.prediction.free_nodes.job_history import DAY, Jobs, jobs

Floats = NDArray[np.float64]

GAP = 2 * DAY  # longest time without a submission, in seconds; a log with a longer gap lacks jobs
SETTLED = 5 * DAY  # seconds after a gap until all jobs submitted before it have started
_BEGIN = DAY  # seconds skipped at a log's begin, which lacks the jobs already running then


class History(NamedTuple):
    """The jobs of one or several logs.

    Attributes:
        jobs: the jobs of all files.
        notes: messages about lines that cannot be read and missing columns.
        latest: the latest submission, start or end of a job, in seconds.
    """

    jobs: Jobs
    notes: tuple[str, ...]
    latest: float


class _Table(NamedTuple):
    submit: Floats
    start: Floats
    end: Floats
    size: Floats
    limit: Floats
    user: NDArray[np.str_]
    partition: NDArray[np.str_]


def read_history(paths: list[Path], *, strict: bool = False) -> History:
    """Read one or several job logs of one cluster.

    Args:
        paths: files in SWF, ``sacct -P`` with the columns User and Partition, or another format of
            ``read_jobs``; compressed or not.
        strict: whether a line that cannot be read is an error.

    Raises:
        WheslError: a file cannot be read, or holds no job.
        UsageError: a file's format is unknown, or a line is malformed and ``strict`` is set.
    """
    tables, notes, spans = [], [], []
    for path in paths:
        table, note = _swf(path, strict=strict) if _is_swf(path) else _records(path, strict=strict)
        if note:
            notes.append(f"{path.name}: {note}")
        tables.append(table)
        spans += _covered(table)
    submit, start, end, size, limit = (
        np.concatenate([table[column] for table in tables]) for column in range(5)
    )
    user, partition = (np.concatenate([table[column] for table in tables]) for column in (5, 6))
    # Spans with less than an hour between them are joined.
    joined: list[list[float]] = []
    for begin, finish in sorted(spans):
        if joined and begin <= joined[-1][1] + 3600.0:
            joined[-1][1] = max(joined[-1][1], finish)
        else:
            joined.append([begin, finish])
    covered = np.array(joined or [[submit.max(), submit.max() + 1.0]])
    found = jobs(submit, start, end, size, limit, user, partition=partition, covered=covered)
    known = np.concatenate([one[np.isfinite(one)] for one in (submit, start, end)])
    return History(found, tuple(notes), float(known.max()))


def read_calendar(path: Path) -> Floats:
    """Read announced maintenance: a table with the columns ``start,end`` in Unix seconds or ISO 8601.

    Returns:
        The windows of maintenance in order of time, shape (windows, 2), in seconds.

    Raises:
        UsageError: the first columns are not start and end, or a line cannot be read; the message lists the
            first such lines.
    """
    rows = list(csv.reader(io.StringIO(content(path).lstrip("\ufeff"))))
    names = [name.strip().lower() for name in rows[0]] if rows else []
    if names[:2] != ["start", "end"]:
        raise UsageError(f"{path}:1: not a calendar of maintenance", hint="its first line is start,end")
    clock, windows, wrong = Clock(), [], []
    for line, row in enumerate(rows[1:], 2):
        if not row:
            continue
        try:
            begin, finish = clock.time(row[0].strip()), clock.time(row[1].strip())
            if not begin < finish:
                raise ValueError("it ends before it begins")
            windows.append((begin, finish))
        except (ValueError, IndexError) as error:
            wrong.append(f"{path}:{line}: {error if isinstance(error, ValueError) else 'one field'}")
    if wrong:
        raise UsageError(
            "; ".join(wrong[:5]), hint="a line is START,END: 2026-11-23T08:00:00 or Unix seconds"
        )
    return np.array(sorted(windows)).reshape(-1, 2)


def _is_swf(path: Path) -> bool:
    first = unpacked(path)[:4096].lstrip()
    return first.startswith(b";") or len(first.partition(b"\n")[0].split()) == swf.COUNT


def _swf(path: Path, *, strict: bool) -> tuple[_Table, str]:
    log = swf.read(path, strict=strict)
    epoch = log.epoch
    whole = ~np.isin(log.field("status"), (2, 3, 4))
    submit, wait, run = (log.field(name)[whole] for name in ("submit", "wait", "run"))
    allocated, requested = log.field("allocated")[whole], log.field("requested")[whole]
    start = epoch + submit + np.maximum(wait, 0.0)
    table = _Table(
        epoch + submit,
        np.where(run >= 0, start, np.inf),
        np.where(run >= 0, start + run, start),
        np.where(allocated > 0, allocated, requested),
        log.field("requested_time")[whole],
        log.field("user")[whole].astype(np.int64).astype(str),
        log.field("partition")[whole].astype(np.int64).astype(str),
    )
    return table, told(log.malformed)


def _records(path: Path, *, strict: bool) -> tuple[_Table, str]:
    log = read_jobs(path, strict=strict)
    rows = [job for job in log.jobs if job.nodes > 0]
    if not rows:
        raise WheslError(f"{path}: no job with nodes in {log.lines} {log.unit}s")
    start = np.array([job.start for job in rows])
    end = np.array([job.end for job in rows])
    # Slurm records equal start and end times for a job that was cancelled before it started.
    never = np.array([job.state is State.CANCELLED for job in rows]) & (start >= end)
    notes = [told(log.malformed, log.unit)]
    if not any(job.user for job in rows):
        notes.append("no column User: run times are learned without it")
    table = _Table(
        np.array([job.submit for job in rows]),
        np.where(np.isnan(start) | never, np.inf, start),
        np.where(np.isnan(end), np.inf, end),
        np.array([float(job.nodes) for job in rows]),
        np.array([job.limit if math.isfinite(job.limit) else 0.0 for job in rows]),
        np.array([job.user for job in rows], dtype=str),
        np.array([job.partition for job in rows], dtype=str),
    )
    return table, "; ".join(note for note in notes if note)


def _covered(table: _Table) -> list[tuple[float, float]]:
    """Return the spans of time, in seconds, in which a log holds every job."""
    begun = table.start[np.isfinite(table.start)]
    if not len(begun):
        return []
    submit = np.sort(table.submit)
    # A log selected by start times holds a few jobs that were submitted long before the first start.
    submit = submit[submit >= begun.min() - GAP]
    if not len(submit):
        return []
    cut = np.flatnonzero(np.diff(submit) > GAP)
    first = np.append(submit[0], submit[cut + 1])
    last = np.append(submit[cut], submit[-1])
    spans = [(max(first[0], begun.min()) + _BEGIN, last[0])]
    spans += [(one + SETTLED, other) for one, other in zip(first[1:], last[1:], strict=True)]
    return [(float(one), float(other)) for one, other in spans if one < other]
