"""A machine's resources as TOML: names of the nodes, time zone, interval of the jobs' checkpoints."""

from __future__ import annotations

from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

from whesl.files import toml
from whesl.managers.resource.hostlist import expand
from whesl.model.errors import UsageError

_ACCEPTED = (
    'name = "site"; zone = "Europe/Berlin"; checkpoint = 3600; [[nodes]] names = "n[001-128]"; cpus = 64'
)


class NodeGroup(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A group of nodes with equal numbers of CPUs.

    Attributes:
        names: the nodes' names as a host list, ``n[001-128]``.
        cpus: number of CPUs of each node.
    """

    names: str
    cpus: int = 1


class Resources(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The resources of a machine.

    Attributes:
        nodes: the machine's groups of nodes, at least one.
        name: the machine's name in titles.
        zone: time zone of the machine's logs, ``Europe/Berlin``; empty for the zone of the computer that runs
            WHESL.
        checkpoint: the interval between the jobs' own checkpoints, in seconds; 0 for none.
    """

    nodes: list[NodeGroup]
    name: str = "site"
    zone: str = ""
    checkpoint: float = 0.0

    def names(self) -> tuple[str, ...]:
        """Return the names of all nodes, in the file's order."""
        return tuple(name for group in self.nodes for name in expand(group.names))


def read(path: Path) -> Resources:
    """Read a file of resources.

    Raises:
        UsageError: the file cannot be read, is no TOML, or has unknown keys or values; the message names the
            line.
    """
    document = toml.load(path, _ACCEPTED)
    found = document.whole(Resources)
    names: list[str] = []
    for number, group in enumerate(found.nodes):
        try:
            new = expand(group.names)
        except ValueError as error:
            document.wrong(str(error), "nodes", number, "names")
            continue
        if twice := sorted({*names} & {*new}) or [name for name in new if new.count(name) > 1]:
            document.wrong(f"node {twice[0]} is listed twice", "nodes", number, "names")
        names += new
    if not found.nodes:
        document.wrong("no nodes", "nodes")
    if found.checkpoint < 0:
        document.wrong("checkpoint is below 0", key="checkpoint")
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
