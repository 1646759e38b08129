"""Slurm's steps on this machine, as its step daemons show them: the attempt of each, and its processes.

A step has one launcher, so it belongs to one attempt as a whole. Its slurmstepd is the parent of its tasks,
and is called ``slurmstepd: [JOB.STEP]`` (slurmstepd(8), ps(1)); ``[JOB.batch]``, ``[JOB.extern]`` and
``[JOB.interactive]`` are no steps of a launcher. With ``proctrack/cgroup`` the step of a process stands in
its cgroup's path, also of one that has left its parent (cgroup.conf(5)).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Protocol

DAEMON = "slurmstepd"
JOB = "SLURM_JOB_ID"
_NODE = b"\0SLURMD_NODENAME="
# Flux gives a job's tasks the submitter's variables: in them the name is that of the submitter's node.
_FLUX_TASK = b"\0FLUX_JOB_ID="
# Of a heterogeneous job, "JOB+OFFSET.STEP".
_TITLE = re.compile(rb"slurmstepd: \[(\d+)(?:\+\d+)?\.(\w+)(?:\+\d+)?\]")

# Version 1, ".../uid_U/job_J/step_S"; version 2, ".../job_J/step_S/user/task_T".
_CGROUP = re.compile(rb"/job_(\d+)/step_(\d+)(?=[/\n]|$)")


class Member(Protocol):
    """A process, as far as it is looked at here."""

    @property
    def pid(self) -> int:
        """Its number."""
        ...

    @property
    def parent(self) -> int:
        """Its parent's."""
        ...


def named(title: bytes) -> str:
    """Return what a step daemon with this command line keeps, ``JOB.STEP``; empty when it does not tell."""
    match = _TITLE.match(title)
    return f"{match[1].decode()}.{match[2].decode()}" if match else ""


def of_cgroup(content: bytes) -> str:
    """Return the step that a process's ``/proc/PID/cgroup`` names, ``JOB.STEP``; empty for none."""
    match = _CGROUP.search(content)
    return f"{match[1].decode()}.{match[2].decode()}" if match else ""


def of_launchers(daemons: Mapping[int, str], without: str) -> dict[int, str]:
    """Return the daemons whose steps launchers have started, but for one of them (the caller's own)."""
    return {
        pid: step for pid, step in daemons.items() if step.rpartition(".")[2].isdecimal() and step != without
    }


def of_other_jobs(daemons: Mapping[int, str], job: str) -> list[int]:
    """Return the daemons of other jobs, which an attempt may have submitted."""
    return [pid for pid, step in daemons.items() if step and not step.startswith(f"{job}.")]


def own(environ: Mapping[str, str]) -> str:
    """Return the launcher's step that the caller itself runs in, empty when it is in none.

    A batch script's own step is no number, or a negative one (26.05).
    """
    job, step = environ.get(JOB, ""), environ.get("SLURM_STEP_ID", "")
    return f"{job}.{step}" if job and step.isdecimal() else ""


def node_told(environment: bytes) -> bytes | None:
    """Return the node that a process runs on, as its environment names it.

    Args:
        environment: as ``/proc`` shows it, with a zero byte before and behind.

    Returns b"" where it names none, None for a task of Flux, of which no environment tells it.
    """
    return None if _FLUX_TASK in environment else environment.partition(_NODE)[2].partition(b"\0")[0]


def children_of(processes: Iterable[Member]) -> dict[int, list[int]]:
    """Return the children of each process that has any."""
    children: dict[int, list[int]] = {}
    for process in processes:
        children.setdefault(process.parent, []).append(process.pid)
    return children


def below(roots: Iterable[int], children: Mapping[int, list[int]]) -> set[int]:
    """Return all descendants of some processes, themselves left out."""
    found: set[int] = set()
    frontier = list(roots)
    while frontier:
        frontier = [child for pid in frontier for child in children.get(pid, ()) if child not in found]
        found.update(frontier)
    return found


def belonging(
    daemons: Mapping[int, str],
    chosen: Collection[int],
    children: Mapping[int, list[int]],
    wanted: Collection[str],
) -> set[int]:
    """Return all that runs below the daemons of the attempt's steps.

    Args:
        daemons: the step of each daemon, by its number.
        chosen: processes that surely belong to the attempt.
        children: of all processes.
        wanted: steps that are known to be the attempt's.
    """
    mine = [
        pid
        for pid, step in daemons.items()
        if step in wanted or any(child in chosen for child in children.get(pid, ()))
    ]
    return below(mine, children)
