"""What a job has to ask for in its next run, so that it waits for no node that is lost. Pure.

Slurm never gives a job a node of its ExcNodeList, so a job is kept off bad nodes only where enough other
nodes are there; and it asks for spares only where so many nodes are there. A node counts where it is up, in
the job's partition, and has the processors, memory, devices and features of one of the job's nodes. A job
that names its nodes or its reservation asks for the same as before.
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
SIZE_FORMAT = ",".join(f"{name}:{SEPARATOR}" for name in ("NumNodes", "NumCPUs", "NumTasks"))
_NONE = ("", "(null)", "N/A")


def partition(job: str) -> str:
    """Return the partition of a job, from ``squeue -h -o JOB_FORMAT``."""
    return next((row[0] for row in rows(job, len(_JOB), "squeue")), "")


def asks(
    job: str, nodes: str, used: Sequence[str], bad: Sequence[str], sizes: tuple[int, int]
) -> tuple[str, int]:
    """Return the job's new ExcNodeList, and its number of nodes; "" and 0 where they stay as they are.

    Args:
        job: what ``squeue -h -o JOB_FORMAT`` printed of the job.
        nodes: what ``sinfo -h -N -O NODE_FORMAT`` printed of the job's partition.
        used: the nodes of the job's last run; none where they are unknown: each of the partition counts.
        bad: the nodes that it has to be kept off.
        sizes: the fewest and the most nodes that it may ask for, (0, 0) for as many as before.

    Raises CouldNotObserveError for an output that is not understood.
    """
    for _, count, wanted, reservation, before in rows(job, len(_JOB), "squeue"):
        kind = {name: (node_state(state), *more) for name, state, *more in rows(nodes, len(_NODE), "sinfo")}
        if wanted not in _NONE or reservation not in _NONE or not count.isdecimal():
            return "", 0
        out = set(hosts_of(before, "squeue") if before else ())
        alike = {kind[node][1:] for node in used or kind if node in kind}
        up = [
            node
            for node, (state, *more) in kind.items()
            if state is NodeState.UP and tuple(more) in alike and node not in out
        ]
        named = [node for node in bad if node in kind]
        left = [node for node in up if node not in named]
        fewest, most = sizes if any(sizes) else (int(count), 0)
        excluded = bool(named) and len(left) >= fewest
        size = min(len(left if excluded else up), most)
        return ",".join(sorted({*out, *named})) if excluded else "", max(size, fewest) if most else 0
    return "", 0


def size_changes(before: str, now: str, nodes: int) -> list[str]:
    """Return the changes of processors and tasks of a job whose number of nodes was changed.

    A job that has not said how many tasks it has gets their new number from Slurm.

    Args:
        before, now: what ``squeue -h -O SIZE_FORMAT`` printed before and after the change.
        nodes: the new number of nodes.
    """
    old, new = (next(iter(rows(text, 3, "squeue")), ()) for text in (before, now))
    if not all(value.isdecimal() for value in (*old, *new)) or not old or not new:
        return []
    count, processors, tasks = (int(value) for value in old)
    changes = [f"NumCPUs={processors * nodes // count}"]
    return [*changes, f"NumTasks={tasks * nodes // count}"] if old[2] == new[2] else changes
