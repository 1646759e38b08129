"""A site's records, read by the commands sacct, sacctmgr, sinfo and flux."""

from __future__ import annotations

import subprocess
from datetime import datetime
from pathlib import Path

from whesl.lab.readers import flux_jobs_and_events, slurm_jobs_and_events
from whesl.lab.readers.failures import Loaded
from whesl.lab.readers.site_job_records import Clock, JobLog
from whesl.managers.resource.command_call import captured
from whesl.model.errors import WheslError
from whesl.model.hostlist import expand

_PATIENCE = 600.0  # longest time of a command in seconds, enough for years of a large site's jobs


def slurm_events(since: float, *, leave_out: str = "", take: str = "") -> Loaded | None:
    """Return Slurm's node events; None if Slurm has no events.

    Args:
        since: begin of the time to read, in seconds since the epoch.
        leave_out, take: see ``slurm_jobs_and_events.events``.

    Raises:
        WheslError: the command is missing or fails.
    """
    text = _run("sacctmgr", "-P", "show", "event", f"start={_stamp(since)}")
    if len(text.splitlines()) < 2:
        return None
    return slurm_jobs_and_events.events(text, Path("sacctmgr"), Clock(), leave_out=leave_out, take=take)


def slurm_jobs(since: float) -> JobLog:
    """Return Slurm's jobs of all users since a time in epoch seconds. Errors: see ``slurm_events``."""
    columns = "JobID,State,Submit,Start,End,TimelimitRaw,NNodes,NodeList"
    return slurm_jobs_and_events.sacct(
        _run("sacct", "-aDXP", "-S", _stamp(since), "-o", columns), Path("sacct"), Clock()
    )


def slurm_nodes() -> tuple[str, ...]:
    """Return the names of Slurm's nodes. Errors: see ``slurm_events``."""
    return tuple(
        dict.fromkeys(name for line in _run("sinfo", "-haNo", "%N").split() for name in expand(line))
    )


def flux_events() -> Loaded:
    """Return Flux's resource event log. Errors: see ``slurm_events``."""
    return flux_jobs_and_events.eventlog(
        _run("flux", "resource", "eventlog"), Path("flux resource eventlog"), Clock()
    )


def _stamp(time: float) -> str:
    return datetime.fromtimestamp(time).strftime("%Y-%m-%dT%H:%M:%S")


def _run(*command: str) -> str:
    try:
        done = captured(command, timeout=_PATIENCE)
    except FileNotFoundError:
        raise WheslError(f"{command[0]} is not on PATH", hint="or give files; see --help") from None
    except (OSError, subprocess.TimeoutExpired) as error:
        raise WheslError(f"{' '.join(command)}: {error}") from error
    if done.returncode != 0:
        told = done.stderr.strip().splitlines()
        raise WheslError(
            f"{' '.join(command)} has failed: {told[-1] if told else f'status {done.returncode}'}",
            hint="does this cluster keep accounts (slurmdbd), and may this account read them?",
        )
    return done.stdout
