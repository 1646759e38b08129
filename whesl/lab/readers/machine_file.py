"""A machine's resources as TOML: nodes, bandwidth, time zone, interval of the jobs' checkpoints."""

from __future__ import annotations

from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

from whesl.files import toml
from whesl.model.errors import UsageError
from whesl.model.hostlist import expand

_ACCEPTED = """\
name = "site"; zone = "Europe/Berlin"; checkpoint = 3600; bandwidth = 1.25e9; nodes = 16, or
[[nodes]] names = "n[001-128]" (or count = 128); cpus = 64; speed = 1.0"""
_MOST = 1_000_000
# Default bandwidth between two nodes in bytes a second: 10 Gbit/s.
BANDWIDTH = 1.25e9


class NodeGroup(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A group of equal nodes, given by names or number.

    Attributes:
        names: the nodes' names as a host list, ``n[001-128]``.
        count: number of nodes without names.
        cpus: number of CPUs of each node.
        speed: relative speed of each node; a task takes its run time / speed.
    """

    names: str = ""
    count: int = 0
    cpus: int = 1
    speed: float = 1.0


class Resources(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The resources of a machine.

    Attributes:
        nodes: the machine's groups of nodes, at least one, or the number of equal nodes without names.
        name: the machine's name in titles.
        zone: time zone of the machine's logs, ``Europe/Berlin``; empty for the zone of the computer that runs
            WHESL.
        checkpoint: the interval between the jobs' own checkpoints, in seconds; 0 for none.
        bandwidth: bandwidth between two nodes, in bytes a second.
    """

    nodes: list[NodeGroup] | int
    name: str = "site"
    zone: str = ""
    checkpoint: float = 0.0
    bandwidth: float = BANDWIDTH

    def groups(self) -> list[NodeGroup]:
        """Return the groups of nodes."""
        return [NodeGroup(count=self.nodes)] if isinstance(self.nodes, int) else self.nodes

    def names(self) -> tuple[str, ...]:
        """Return the names of all nodes, in the file's order. Raises UsageError where nodes have no names."""
        if not all(group.names for group in self.groups()):
            raise UsageError("nodes of the resources have no names", hint='[[nodes]] names = "n[001-128]"')
        return tuple(name for group in self.groups() for name in expand(group.names))

    def speeds(self) -> list[float]:
        """Return the relative speed of each node, in the file's order."""
        counts = [(len(expand(group.names)) or group.count, group.speed) for group in self.groups()]
        return [speed for count, speed in counts for _ in range(count)]


def read(path: Path) -> Resources:
    """Read a file of resources.

    Raises:
        UsageError: the file cannot be read, is no TOML, or has unknown keys or values; the message names the
            line.
    """
    document = toml.load(path, _ACCEPTED)
    found = document.whole(Resources)
    names: set[str] = set()
    for number, group in enumerate(found.groups()):

        def wrong(message: str, key: str = "", number: int = number) -> None:
            document.wrong(message, "nodes", number, key)

        if bool(group.names) == bool(group.count):
            wrong("nodes have names or a count")
        if not 0 <= group.count <= _MOST:
            wrong(f"count is {group.count}, where 1 to {_MOST:,} are possible", "count")
        if group.speed <= 0:
            wrong(f"speed is {group.speed:g}, where a number above 0 is needed", "speed")
        try:
            new = expand(group.names)
        except ValueError as error:
            wrong(str(error), "names")
            continue
        if twice := sorted(names & {*new}) or [name for name in new if new.count(name) > 1]:
            wrong(f"node {twice[0]} is listed twice", "names")
        names |= {*new}
    if not found.groups():
        document.wrong("no nodes", "nodes")
    if found.checkpoint < 0:
        document.wrong("checkpoint is below 0", key="checkpoint")
    if found.bandwidth <= 0:
        document.wrong(f"bandwidth is {found.bandwidth:g}, where a number above 0 is needed", key="bandwidth")
    try:
        zone(found.zone, "zone")
    except UsageError as error:
        document.wrong(error.message, key="zone")
    document.check()
    return found


def zone(name: str, where: str) -> ZoneInfo | None:
    """Return a time zone; None stands for this machine's zone.

    Args:
        name: the zone's name in the zone database; empty for this machine's zone.
        where: the option or file that named the zone, for messages.

    Raises:
        UsageError: there is no such zone.
    """
    if not name:
        return None
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise UsageError(
            f"{where}: no time zone {name!r}", hint="for example Europe/Berlin, or UTC"
        ) from None
