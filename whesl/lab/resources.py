"""A machine's resources as TOML: its nodes by name, its zone, its jobs' checkpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

from whesl.lab import toml
from whesl.lab.toml import line_of
from whesl.model.errors import UsageError
from whesl.rjms.hostlist import expand

if TYPE_CHECKING:
    from pathlib import Path

_ACCEPTED = (
    'name = "site"; zone = "Europe/Berlin"; checkpoint = 3600; [[nodes]] names = "n[001-128]"; cpus = 64'
)


class NodeGroup(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Nodes that are alike.

    Attributes:
        names: a host list, ``n[001-128]``.
        cpus: of each node.
    """

    names: str
    cpus: int = 1


class Resources(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A machine.

    Attributes:
        nodes: its groups of nodes, at least one.
        name: as in titles.
        zone: the time zone of its logs, ``Europe/Berlin``; empty for this machine's own.
        checkpoint: the interval between its jobs' own checkpoints, in seconds; 0 for none.
    """

    nodes: list[NodeGroup]
    name: str = "site"
    zone: str = ""
    checkpoint: float = 0.0

    def names(self) -> tuple[str, ...]:
        """Return the names of all nodes, in order."""
        return tuple(name for group in self.nodes for name in expand(group.names))


def read(path: Path) -> Resources:
    """Read a file.

    Raises:
        UsageError: it cannot be read, is no TOML, or says what is not known; with its line.
    """
    found, text = toml.read(path, Resources, _ACCEPTED)
    try:
        names = found.names()
    except ValueError as error:
        raise UsageError(f"{path}{line_of(text, 'names')}: {error}") from error
    if not names:
        raise UsageError(f"{path}: no nodes", hint=_ACCEPTED)
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise UsageError(f"{path}: node {twice} is listed twice")
    if found.checkpoint < 0:
        raise UsageError(f"{path}{line_of(text, 'checkpoint')}: checkpoint is below 0")
    zone(found.zone, f"{path}{line_of(text, 'zone')}")
    return found


def zone(name: str, where: str) -> ZoneInfo | None:
    """Return a time zone; None for this machine's own.

    Args:
        name: as in the zone database; empty for this machine's own.
        where: what named it, for messages.

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
