"""The placement service's access to Slurm: reads nodes and jobs, and changes them by scontrol."""

from __future__ import annotations

import contextlib
import re
import secrets
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from whesl.managers.resource.embedded.commands.options import seconds
from whesl.managers.resource.slurm.command import DeniedError, SlurmCommands
from whesl.managers.resource.slurm.states import UNDRAINED
from whesl.model.errors import CouldNotObserveError, UsageError, WheslError
from whesl.model.hostlist import compress, expand
from whesl.placement.site.publish import plugin_file
from whesl.placement.site.publish.core.node_changes import Command, Drain, SetFeatures, SetWeight, Undrain
from whesl.placement.site.publish.observed_node import Node
from whesl.placement.site.publish.plugin_file import Request
from whesl.placement.site.publish.waiting_job_exclusions import Change, Job

_SEPARATOR = "\x1f"
_NODE_FIELDS = (
    "NodeList",
    "StateComplete",
    "Partition",
    "Weight",
    "Features",
    "features_act",
    "CPUs",
    "Memory",
    "Reason",
)
_NODE_FORMAT = ",".join(f"{field}:{_SEPARATOR}" for field in _NODE_FIELDS)
# Job's fields of squeue -o, the user's comment last, and those that only -O has. Before 24.05 -O has no %x.
_JOB_FIELDS = (
    *("%F", "%i", "%T", "%P", "%D", "%l", "%x", "%n", "%f", "%v"),
    *("%b", "%O", "%d", "%m", "%c", "%C", "%V", "%r", "%k"),
)
_MORE_JOB_FIELDS = ("ArrayJobID", "ReqSwitch", "admin_comment")
_NONE = frozenset({"", "(null)", "N/A", "none", "*"})
# Begins of the reasons for which a job waits even if all nodes are free.
_NOT_FOR_NODES = ("JobHeld", "Dependency", "BeginTime", "launch failed")
_PLAIN_FEATURES = re.compile(r"[A-Za-z0-9_.:/+&-]+")
_MEMORY = re.compile(r"(\d+(?:\.\d+)?)([KMGTP]?)")
_UNITS = {"K": 1 / 1024, "": 1, "M": 1, "G": 1024, "T": 1024**2, "P": 1024**3}
OFF = "placement=off"  # text in a job's comment that opts out of placement


class Machine(NamedTuple):
    """The cluster's nodes in Slurm's order, and its default partition."""

    nodes: tuple[Node, ...]
    default: str


class Cluster:
    """One Slurm cluster.

    Args:
        environ: the environment of Slurm's commands; SLURM_CONF and PATH in it choose the cluster.
        timeout: seconds after which a command counts as unanswered.
    """

    def __init__(self, environ: Mapping[str, str], *, timeout: float = 35.0) -> None:
        self._commands = SlurmCommands(environ, timeout=timeout)

    def nodes(self) -> Machine:
        """Return the cluster's nodes. Raises CouldNotObserveError or another WheslError."""
        return nodes_in(self._commands.run("sinfo", "-a", "-N", "-h", "-O", _NODE_FORMAT))

    def jobs(self) -> list[Job]:
        """Return the waiting and running jobs. Raises the same errors as ``nodes``.

        ``scontrol show job`` is not used: a job's name, which users choose, can forge lines of its output.
        """
        # Comments are free text, so the separator cannot be guessed. It does not begin with a digit, which
        # Slurm would take for a width.
        separator = f"{_SEPARATOR}{secrets.token_hex(8)}{_SEPARATOR}"
        form = ",".join(f"{field}:{separator}" for field in _MORE_JOB_FIELDS)
        look = ("squeue", "-a", "-h", "-t", "PD,R")
        shown = self._commands.run(*look, "-o", separator.join((*_JOB_FIELDS, "")))
        more = _rows(self._commands.run(*look, "-O", form), separator, len(_MORE_JOB_FIELDS))
        found = []
        for name, row in _rows(shown, separator, len(_JOB_FIELDS)).items():
            # A job that cannot be read is left out, and so not changed.
            with contextlib.suppress(KeyError, ValueError, UsageError):
                found.append(_job(row, *more[name][1:]))
        return found

    def perform(self, command: Command) -> bool:
        """Change a node; return whether the change was made. An administrator's drain is not changed.

        Raises WheslError when a command of Slurm fails.
        """
        match command:
            case SetWeight(node, weight):
                self.weigh([node], weight)
            case SetFeatures(node, available, active):
                self._update(
                    node, f"availablefeatures={','.join(available)}", f"activefeatures={','.join(active)}"
                )
            case Drain(node, reason):
                now = self._one(node)
                if now.drained and now.reason != reason:
                    return False
                self._update(node, "state=drain", f"reason={reason}")
            case Undrain(node, reason):
                now = self._one(node)
                if not now.drained or now.reason != reason:
                    return False
                self._update(node, "state=undrain", f"reason={UNDRAINED}")
        return True

    def weigh(self, nodes: Sequence[str], weight: int) -> None:
        """Set the weight of nodes with one command.

        Args:
            nodes: names of the nodes.
            weight: the weight; Slurm takes nodes of lower weight first.

        Raises:
            WheslError: the command fails.
        """
        self._update(compress(nodes), f"weight={weight}")

    def exclude(self, change: Change) -> tuple[str, ...]:
        """Set a waiting job's exclude list, and mark it in the job's admin comment.

        Operators may change the list but not the comment, and a list without a mark would never be updated.
        So if Slurm denies the change, a list that excludes more nodes than decided is removed; any other list
        stays.

        Args:
            change: the job and its new list.

        Returns:
            The nodes that the job is kept off now.

        Raises WheslError when a command of Slurm fails.
        """
        nodes = change.decision.nodes
        text = _with_mark(change.comment, plugin_file.mark(change.decision) if nodes else "")
        update = ("scontrol", "update", f"jobid={change.job}")
        try:
            self._commands.run(*update, f"excnodelist={compress(nodes)}", f"admincomment={text}")
        except DeniedError:
            if set(change.before) <= set(nodes):
                raise
            self._commands.run(*update, "excnodelist=")
            return ()
        except WheslError:
            # Running tasks of a job array keep the old list, which Slurm reports as an error.
            shown = self._commands.run("squeue", "-h", "-t", "PD", "-j", change.job, "-o", "%x").split()
            if not shown or any(set(_node_list(one)) != set(nodes) for one in shown):
                raise
        return nodes

    def _update(self, node: str, *changes: str) -> None:
        self._commands.run("scontrol", "update", f"nodename={node}", *changes)

    def _one(self, node: str) -> Node:
        found = nodes_in(self._commands.run("sinfo", "-a", "-N", "-h", "-n", node, "-O", _NODE_FORMAT)).nodes
        if not found:
            raise CouldNotObserveError(f"sinfo shows no node {node}")
        return found[0]


def nodes_in(text: str) -> Machine:
    """Return the nodes in sinfo's output, which has one row for each node and partition.

    Args:
        text: output of ``sinfo -N`` with ``_NODE_FORMAT``.

    Raises:
        CouldNotObserveError: the text has another form.
    """
    rows: dict[str, list[str]] = {}
    partitions: dict[str, list[str]] = {}
    default = ""
    # A node's reason may hold a newline, so rows are found by counting fields instead of lines.
    fields = text.split(_SEPARATOR)
    width = len(_NODE_FIELDS)
    if (len(fields) - 1) % width:
        raise CouldNotObserveError(f"sinfo printed {len(fields)} fields; {width} were asked for of each node")
    for at in range(0, len(fields) - 1, width):
        row = [field.strip("\n") for field in fields[at : at + width]]
        rows[row[0]] = row
        part = row[2]
        if part.endswith("*"):
            part = default = part[:-1]
        if part not in _NONE:
            partitions.setdefault(row[0], []).append(part)
    try:
        nodes = tuple(_node(row, tuple(partitions.get(name, ()))) for name, row in rows.items())
    except ValueError as error:
        raise CouldNotObserveError(f"sinfo printed what is no node: {error}") from None
    return Machine(nodes, default)


def _node(row: list[str], partitions: tuple[str, ...]) -> Node:
    name, state, _, weight, features, active, cpus, memory, reason = row
    return Node(
        name=name,
        flags=frozenset(re.split(r"[+*~#!%$@^-]+", state.lower())) - {""},
        partitions=partitions,
        weight=int(weight),
        features=_features(features),
        active_features=_features(active),
        cpus=int(cpus),
        memory=int(memory),
        reason="" if reason in _NONE else reason,
    )


def _features(text: str) -> tuple[str, ...]:
    return () if text in _NONE else tuple(text.split(","))


def _rows(text: str, separator: str, width: int) -> dict[str, list[str]]:
    """Return the rows of squeue's output by job; for a job array, the row of its first waiting element."""
    fields = [field.strip() for field in text.split(separator)]
    found: dict[str, list[str]] = {}
    for at in range(0, len(fields) - width, width):
        if fields[at].isdecimal():
            found.setdefault(fields[at], fields[at : at + width])
    return found


def _job(row: list[str], switches: str, admin: str) -> Job:
    name, shown, state, partition, nodes, limit, excluded, named, features, reservation, *rest = row
    gres, contiguous, disk, memory, node_cpus, cpus, submitted, reason, comment = rest
    plain = features in _NONE or bool(_PLAIN_FEATURES.fullmatch(features))
    own = named not in _NONE or reservation not in _NONE or OFF in comment
    special = ""
    if gres not in _NONE and gres != "N/A":
        special = plugin_file.SPECIAL[0]
    elif contiguous == "1" or switches != "0":
        special = plugin_file.SPECIAL[1]
    elif not plain:
        special = plugin_file.SPECIAL[2]
    elif "+" in shown:  # 12+0 is the first component of a heterogeneous job
        special = plugin_file.SPECIAL[3]
    elif _megabytes(disk) > 0:
        special = plugin_file.SPECIAL[4]
    request = Request(
        partitions=tuple(partition.split(",")),
        nodes=int(nodes.partition("-")[0]),
        seconds=None if limit in ("NOT_SET", "INVALID") else seconds(limit),
        cpus=int(cpus),
        node_cpus=int(node_cpus),
        memory=_megabytes(memory),
        features=() if features in _NONE else tuple(features.split("&")),
        own=own,
        special=special,
    )
    return Job(
        name=name,
        waiting=state == "PENDING",
        request=request,
        excluded=_node_list(excluded),
        submitted=float(submitted),
        named=_node_list(named),
        blocked=reason.startswith(_NOT_FOR_NODES),
        comment="" if admin in _NONE else admin,
    )


def _node_list(text: str) -> tuple[str, ...]:
    return () if text in _NONE else expand(text)


def _megabytes(text: str) -> int:
    found = _MEMORY.match(text)
    return int(float(found[1]) * _UNITS[found[2]]) if found else 0


def _with_mark(comment: str, mark: str) -> str:
    """Return an admin comment with its mark replaced or removed; other text stays."""
    others = [part for part in comment.split(" | ") if part and plugin_file.marked(part) is None]
    return " | ".join([*others, mark] if mark else others)
