"""Finds an attempt's processes on this machine by Slurm's step daemons.

A step has one launcher, so all its tasks belong to one attempt. The step's slurmstepd is the parent of its
tasks, and has the title ``slurmstepd: [JOB.STEP]`` (slurmstepd(8), ps(1)); ``[JOB.batch]``, ``[JOB.extern]``
and ``[JOB.interactive]`` are not started by launchers. With ``proctrack/cgroup``, the cgroup path of a
process names its step, even after the process has left its parent (cgroup.conf(5)).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Protocol

DAEMON = "slurmstepd"
JOB = "SLURM_JOB_ID"
_NODE = b"\0SLURMD_NODENAME="
# A task of Flux inherits SLURMD_NODENAME from its submitter, so that the variable names the submitter's node.
_FLUX_TASK = b"\0FLUX_JOB_ID="
# A step daemon's title; in a heterogeneous job with "JOB+OFFSET.STEP".
_TITLE = re.compile(rb"slurmstepd: \[(\d+)(?:\+\d+)?\.(\w+)(?:\+\d+)?\]")

# A step's cgroup path: ".../uid_U/job_J/step_S" (version 1), ".../job_J/step_S/user/task_T" (version 2).
_CGROUP = re.compile(rb"/job_(\d+)/step_(\d+)(?=[/\n]|$)")


class Member(Protocol):
    """A process with its id and its parent's id."""

    @property
    def pid(self) -> int:
        """The process id."""

    @property
    def parent(self) -> int:
        """The parent's process id."""


def named(title: bytes) -> str:
    """Return the step ``JOB.STEP`` of a step daemon from its title; empty for other titles."""
    match = _TITLE.match(title)
    return f"{match[1].decode()}.{match[2].decode()}" if match else ""


def of_cgroup(content: bytes) -> str:
    """Return the step ``JOB.STEP`` of a process from its ``/proc/PID/cgroup``; empty without a step."""
    match = _CGROUP.search(content)
    return f"{match[1].decode()}.{match[2].decode()}" if match else ""


def of_launchers(daemons: Mapping[int, str], without: str) -> dict[int, str]:
    """Return the step daemons whose steps were started by launchers.

    Args:
        daemons: the step of each step daemon, by the daemon's process id.
        without: the step ``JOB.STEP`` to leave out, such as the caller's own.
    """
    return {
        pid: step for pid, step in daemons.items() if step.rpartition(".")[2].isdecimal() and step != without
    }


def of_other_jobs(daemons: Mapping[int, str], job: str) -> list[int]:
    """Return the step daemons of other jobs, which an attempt may have submitted.

    Args:
        daemons: the step of each step daemon, by the daemon's process id.
        job: the id of the attempt's own job.
    """
    return [pid for pid, step in daemons.items() if step and not step.startswith(f"{job}.")]


def own(environ: Mapping[str, str]) -> str:
    """Return the step ``JOB.STEP`` of a process that a launcher started; empty for any other process.

    A batch script's own step id is no number, or a negative number (26.05).
    """
    job, step = environ.get(JOB, ""), environ.get("SLURM_STEP_ID", "")
    return f"{job}.{step}" if job and step.isdecimal() else ""


def node_told(environment: bytes) -> bytes | None:
    """Return the node that a process's environment names as the process's node.

    Args:
        environment: the content of ``/proc/PID/environ``, with a zero byte before and behind.

    Returns b"" where the environment names no node, None for a task of Flux, whose environment cannot tell.
    """
    return None if _FLUX_TASK in environment else environment.partition(_NODE)[2].partition(b"\0")[0]


def children_of(processes: Iterable[Member]) -> dict[int, list[int]]:
    """Return the ids of the children of each process that has children."""
    children: dict[int, list[int]] = {}
    for process in processes:
        children.setdefault(process.parent, []).append(process.pid)
    return children


def below(roots: Iterable[int], children: Mapping[int, list[int]]) -> set[int]:
    """Return all descendants of some processes, without these processes.

    Args:
        roots: the ids of the processes.
        children: the ids of each process's children.
    """
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
    """Return all processes below the step daemons of an attempt's steps.

    Args:
        daemons: the step of each step daemon, by the daemon's process id.
        chosen: the ids of processes that surely belong to the attempt.
        children: the ids of each process's children.
        wanted: the steps that are known to be the attempt's.
    """
    mine = [
        pid
        for pid, step in daemons.items()
        if step in wanted or any(child in chosen for child in children.get(pid, ()))
    ]
    return below(mine, children)
