"""The nodes that the next run of a job is kept off: only where enough other nodes are there. Pure.

Slurm never gives a job a node of its ExcNodeList, so a job on a small cluster could wait for ever. A node
counts as another one where it is up, in the job's partition, and has the processors, memory, devices and
features of one of the job's nodes. A job that names its nodes or its reservation is kept off no node.
"""

from __future__ import annotations

from collections.abc import Sequence

from whesl.managers.resource.slurm.slurm_command_output import SEPARATOR, hosts_of, rows
from whesl.managers.resource.slurm.states import node_state
from whesl.model.states import NodeState

# Partition, number of nodes, named nodes, reservation, excluded nodes (22.05 has no long name of the last).
_JOB = ("%P", "%D", "%n", "%v", "%x")
_NODE = ("NodeList", "StateComplete", "CPUs", "Memory", "Gres", "Features")
JOB_FORMAT = "".join(f"{field}{SEPARATOR}" for field in _JOB)
NODE_FORMAT = ",".join(f"{name}:{SEPARATOR}" for name in _NODE)
_NONE = ("", "(null)", "N/A")


def partition(job: str) -> str:
    """Return the partition of a job, from ``squeue -h -o JOB_FORMAT``."""
    return next((row[0] for row in rows(job, len(_JOB), "squeue")), "")


def excluded(job: str, nodes: str, used: Sequence[str], bad: Sequence[str]) -> str:
    """Return the job's new ExcNodeList, "" where it stays as it is.

    Args:
        job: what ``squeue -h -o JOB_FORMAT`` printed of the job.
        nodes: what ``sinfo -h -N -O NODE_FORMAT`` printed of the job's partition.
        used: the nodes of the job's last run.
        bad: the nodes that it has to be kept off.

    Raises CouldNotObserveError for an output that is not understood.
    """
    for _, count, wanted, reservation, before in rows(job, len(_JOB), "squeue"):
        kind = {name: (node_state(state), *more) for name, state, *more in rows(nodes, len(_NODE), "sinfo")}
        named = [node for node in bad if node in kind]
        if not named or wanted not in _NONE or reservation not in _NONE or not count.isdecimal():
            return ""
        out = {*named, *(hosts_of(before, "squeue") if before else ())}
        alike = {kind[node][1:] for node in used if node in kind}
        left = [
            node
            for node, (state, *more) in kind.items()
            if state is NodeState.UP and tuple(more) in alike and node not in out
        ]
        return ",".join(sorted(out)) if len(left) >= int(count) else ""
    return ""
