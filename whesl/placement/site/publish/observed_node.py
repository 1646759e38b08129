"""A cluster's nodes as its scheduler shows them, for what is decided about them."""

from __future__ import annotations

import msgspec

# Flags in a node's state with which no job can start on it; for reserved ones, none but the reservation's.
_OUT = frozenset(
    {"down", "drain", "fail", "unknown", "future", "invalid_reg", "not_responding", "reboot_issued"}
    | {"power_down", "powered_down", "powering_down", "maintenance", "reserved"}
)


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """A node. ``flags``: its state's parts, in lower case; ``memory`` in MiB.

    ``reason``: why it is out of service, as who took it out wrote it, "" for nothing.
    """

    name: str
    flags: frozenset[str]
    partitions: tuple[str, ...]
    weight: int = 1
    features: tuple[str, ...] = ()
    active_features: tuple[str, ...] = ()
    cpus: int = 1
    memory: int = 0
    reason: str = ""

    @property
    def usable(self) -> bool:
        """Whether jobs can start on it, now or when its present ones end."""
        return not self.flags & _OUT

    @property
    def drained(self) -> bool:
        """Whether the node is drained, by anyone."""
        return "drain" in self.flags

    @property
    def down(self) -> bool:
        """Whether the scheduler has lost it."""
        return "down" in self.flags
