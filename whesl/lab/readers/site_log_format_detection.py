"""Readers of job and failure logs that detect the format from the file's first bytes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import tzinfo
from functools import partial
from pathlib import Path

from whesl.lab.readers import (
    failures,
    flux_jobs_and_events,
    pbs_accounting,
    slurm_jobs_and_events,
)
from whesl.lab.readers.failures import Loaded
from whesl.lab.readers.site_job_records import COLUMNS, Clock, JobLog, content, finish, swf_log, table
from whesl.model.errors import UsageError, WheslError


def read_jobs(path: Path, *, zone: tzinfo | None = None, strict: bool = False) -> JobLog:
    """Read a job log of any known format, compressed (.xz, .gz) or not.

    Args:
        path: output of ``sacct -P`` or ``sacct --json``, of ``flux jobs -a --json``, accounting logs of PBS,
            an SWF log, or a table that begins with ``job,submit,start,end,nodes[,limit][,state][,hosts]``.
        zone: time zone of times that name none; None for this machine's zone.
        strict: whether a line that cannot be read is an error.

    Raises:
        WheslError: the file cannot be read, or holds no job.
        UsageError: the format is unknown, a column is missing, or a line is malformed and ``strict`` is set.
    """
    text = content(path)
    reader = _reader(path, text)
    log = reader(text, path, Clock(zone))
    finish(log.malformed, log.lines, path, log.unit, strict=strict)
    if not log.jobs:
        more = f"; {log.unit} {log.malformed[0].line}: {log.malformed[0].why}" if log.malformed else ""
        units = {"line": "lines", "entry": "entries"}[log.unit]
        raise WheslError(f"{path}: no job in {log.lines} {units}{more}")
    return log


def read_failures(
    path: Path,
    *,
    zone: tzinfo | None = None,
    system: str | None = None,
    leave_out: str = "",
    take: str = "",
    strict: bool = False,
) -> Loaded:
    """Read a failure log of any known format, compressed (.xz, .gz) or not.

    Args:
        path: output of ``sacctmgr -P show event`` or of ``flux resource eventlog``, or a file of failure
            records: LANL, Failure Trace Archive, Mira, or a table that begins with ``node,start,end``.
        zone: time zone of times that name none; None for this machine's zone.
        system: the system to read from a file of several systems (LANL, FTA).
        leave_out: a regular expression; Slurm's events with a matching reason are no failures.
        take: a regular expression or a name of ``DRAINS``; Slurm's drains with a matching reason are failures
            also.
        strict: whether a line that cannot be read is an error.

    Raises:
        WheslError: the file cannot be read, or holds no record.
        UsageError: the format is unknown, or a line is malformed and ``strict`` is set.
    """
    first = _first_line(path)
    reader = (
        partial(slurm_jobs_and_events.events, take=take)
        if slurm_jobs_and_events.is_events(first)
        else flux_jobs_and_events.eventlog
        if flux_jobs_and_events.is_eventlog(first)
        else None
    )
    if reader is not None:
        return reader(content(path), path, Clock(zone), leave_out=leave_out, strict=strict)
    try:
        return failures.read(path, system=system, strict=strict)
    except UsageError as error:
        if not error.message.startswith(f"{path}:1: not a file of failures"):
            raise
        hint = f"{error.hint}; also `sacctmgr -P show event start=START` and `flux resource eventlog`"
        raise UsageError(error.message, hint=hint) from error


def _reader(path: Path, text: str) -> Callable[[str, Path, Clock], JobLog]:
    first = text.lstrip("\ufeff \t\r\n")[:4096]
    line = first.partition("\n")[0]
    if first.startswith("{"):
        return (
            flux_jobs_and_events.jobs
            if flux_jobs_and_events.is_jobs(text)
            else slurm_jobs_and_events.sacct_json
        )
    if "|" in line and "JobID" in line:
        return slurm_jobs_and_events.sacct
    columns = [name.strip().lower() for name in line.split(",")]
    if tuple(columns[:5]) == COLUMNS:
        return table
    if pbs_accounting.is_accounting(line):
        return pbs_accounting.accounted
    if first.startswith(";") or len(line.split()) == 18:
        return swf_log
    raise UsageError(
        f"{path}:1: not a job log of a known format",
        hint="accepted are the output of `sacct -aDXP -o JobID,State,Submit,Start,End,TimelimitRaw,NNodes,"
        "NodeList`, of `sacct -aD --json` and of `flux jobs -a --json`, accounting logs of PBS, "
        "SWF, and a table that begins with "
        f"{','.join(COLUMNS)}[,limit][,state][,hosts]",
    )


def _first_line(path: Path) -> str:
    return content(path).lstrip("\ufeff \t\r\n").partition("\n")[0]
