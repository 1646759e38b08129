"""A cluster's nodes as its scheduler shows them, as input of decisions."""

from __future__ import annotations

import msgspec

# Flags in a node's state that prevent jobs from starting; on reserved nodes, all but the reservation's jobs.
_OUT = frozenset(
    {"down", "drain", "fail", "unknown", "future", "invalid_reg", "not_responding", "reboot_issued"}
    | {"power_down", "powered_down", "powering_down", "maintenance", "reserved"}
)


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """A node. ``flags``: the parts of its state, in lower case; ``memory`` in MiB.

    ``reason``: the recorded reason why the node is out of service, "" for none.
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
        """Whether jobs can start on the node, now or when its present jobs end."""
        return not self.flags & _OUT

    @property
    def drained(self) -> bool:
        """Whether the node is drained, by the service or by others."""
        return "drain" in self.flags

    @property
    def down(self) -> bool:
        """Whether the scheduler has lost contact with the node."""
        return "down" in self.flags
