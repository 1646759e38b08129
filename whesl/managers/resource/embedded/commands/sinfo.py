"""sinfo: show nodes and partitions."""

from __future__ import annotations

import os

from whesl.managers.resource.embedded import protocol
from whesl.managers.resource.embedded.cluster_directory import Cluster
from whesl.managers.resource.embedded.commands import formats, options
from whesl.managers.resource.embedded.protocol import NodeView
from whesl.managers.resource.embedded.scheduler.job_and_node_records import Partition
from whesl.managers.resource.launcher_shims.launcher_options import Table
from whesl.model.hostlist import compress

OPTIONS = Table("""
Node/N all/a clusters/M= dead/d exact/e federation format/o= help hide iterate/i=
list-reasons/R local long/l noconvert node nodes/n= noheader/h partition/p= reservation/T responding/r sort/S=
state/t=
states= summarize/s usage verbose/v version/V
""")
DEFAULT = "%9P %.5a %.10l %.6D %.6t %N"
BY_NODE = "%10N %.5D %.9P %6t"
REASONS = "%20E %9u %19H %N"
SUMMARY = "%9P %.5a %.10l %.16F %N"
# Format letters whose value covers all nodes of a line; nodes with other letters' values equal share a line.
_TOGETHER = "NDnCFo"


class Line:
    """One line of output: nodes of one partition with equal fields."""

    def __init__(self, partition: Partition, default: bool, views: list[NodeView]) -> None:
        self.partition, self.default, self.views = partition, default, views
        self.first = views[0]


def _cpus(item: Line) -> str:
    used = sum(view.allocated for view in item.views)
    total = sum(view.cpus for view in item.views)
    other = sum(view.cpus - view.allocated for view in item.views if view.base == "down" or view.drain)
    return f"{used}/{total - used - other}/{other}/{total}"


def _counts(item: Line) -> str:
    used = sum(1 for view in item.views if view.allocated)
    other = sum(1 for view in item.views if not view.allocated and (view.base == "down" or view.drain))
    return f"{used}/{len(item.views) - used - other}/{other}/{len(item.views)}"


FIELDS: formats.Fields = {
    "a": ("AVAIL", lambda i: "up"),
    "C": ("CPUS(A/I/O/T)", _cpus),
    "c": ("CPUS", lambda i: str(i.first.cpus)),
    "D": ("NODES", lambda i: str(len(i.views))),
    "E": ("REASON", lambda i: i.first.reason or "none"),
    "F": ("NODES(A/I/O/T)", _counts),
    "H": ("TIMESTAMP", lambda i: formats.stamp(i.first.reason_time, "Unknown")),
    "l": ("TIMELIMIT", lambda i: _limit(i.partition)),
    "N": ("NODELIST", lambda i: compress(view.name for view in i.views)),
    "n": ("HOSTNAMES", lambda i: compress(view.name for view in i.views)),
    "o": ("NODE_ADDR", lambda i: "127.0.0.1"),
    "P": ("PARTITION", lambda i: i.partition.name + ("*" if i.default else "")),
    "R": ("PARTITION", lambda i: i.partition.name),
    "T": ("STATE", lambda i: formats.node_state(i.first)),
    "t": ("STATE", lambda i: formats.node_state(i.first, short=True)),
    "u": ("USER", lambda i: i.first.reason_user or "Unknown"),
}


def run(arguments: list[str]) -> int:
    """Print nodes; nodes of a partition whose printed fields are equal share a line."""
    last = dict(options.only(OPTIONS, arguments))
    answer = Cluster.of(os.environ).ask(protocol.ListNodes(), protocol.Nodes)
    views = [view for view in answer.nodes if _matches(view, last)]
    by_node = "Node" in last
    text = last.get("format") or _default(last, by_node)
    letters = formats.keys(text, FIELDS, "node")
    if "noheader" not in last:
        formats.write(text, FIELDS)
    apart = [letter for letter in letters if letter not in _TOGETHER]
    groups: dict[tuple[object, ...], Line] = {}
    for index, partition in enumerate(answer.settings.partitions):
        if "partition" in last and partition.name not in last["partition"].split(","):
            continue
        for view in views:
            if view.name not in partition.nodes:
                continue
            single = Line(partition, index == 0, [view])
            key: tuple[object, ...] = tuple(FIELDS[letter][1](single) for letter in apart)
            if by_node:
                key = (view.name, *key)
            if key in groups:
                groups[key].views.append(view)
            else:
                groups[key] = single
    order = {view.name: number for number, view in enumerate(answer.nodes)}
    lines = list(groups.values())
    if by_node:
        lines.sort(key=lambda item: order[item.first.name])
    for item in lines:
        formats.write(text, FIELDS, item)
    return 0


def _default(last: dict[str, str], by_node: bool) -> str:
    if "list-reasons" in last:
        return REASONS
    if by_node:
        return BY_NODE
    return SUMMARY if "summarize" in last else DEFAULT


def _matches(view: NodeView, last: dict[str, str]) -> bool:
    if "list-reasons" in last and not view.reason:
        return False
    if "nodes" in last and view.name not in options.node_names(last["nodes"]):
        return False
    if ("dead" in last and view.responds) or ("responding" in last and not view.responds):
        return False
    states = last.get("state") or last.get("states")
    if states is None or states.lower() == "all":
        return True
    words = {
        formats.node_state(view).rstrip("*"),
        formats.node_state(view, short=True).rstrip("*"),
        view.base,
    }
    words |= {"drain"} if view.drain else set()
    return bool({state.lower().rstrip("*") for state in states.split(",")} & words)


def _limit(partition: Partition) -> str:
    return "infinite" if partition.max_time is None else formats.duration(partition.max_time)
