"""Who of the agents is silent for how long, and what agents have to tell. Pure."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

GRACE = 0.2
# Between the end of a lease and the end of the processes that its agent then kills.
LEASE_MARGIN = 0.3


class NodeUp(msgspec.Struct, frozen=True):
    """An agent is there (again)."""

    node: str


class NodeLost(msgspec.Struct, frozen=True):
    """A node's agent has been silent for too long, or its connection has closed and not come back."""

    node: str
    reason: str


class NodeFenced(msgspec.Struct, frozen=True):
    """An agent killed an attempt's processes; ``left`` of them withstood."""

    node: str
    token: str
    count: int
    left: int


class NodeStacks(msgspec.Struct, frozen=True):
    """Stacks from one node."""

    node: str
    token: str
    text: str


Fact = NodeUp | NodeLost | NodeFenced | NodeStacks


class _Peer(msgspec.Struct):
    heard: float = 0.0  # when its last heartbeat came, 0: never
    closed: float | None = None  # when its connection closed
    lost: bool = False


class Silence:
    """Who is silent for how long: pure, on a monotonic clock. Times in seconds.

    Args:
        nodes: whose agents are expected.
        limit: silence after which a node is lost; also the agents' lease.
        grace: how long a closed connection may take to come back.
    """

    def __init__(self, nodes: Iterable[str], limit: float, grace: float = GRACE) -> None:
        self._peers = {node: _Peer() for node in nodes}
        self._limit = limit
        self._grace = grace

    def __contains__(self, node: str) -> bool:
        return node in self._peers

    def heard(self, node: str, now: float) -> bool:
        """Note a sign of life; True when the node was lost or new."""
        peer = self._peers.get(node)
        if peer is None:
            return False
        back = peer.lost or not peer.heard
        peer.heard, peer.closed, peer.lost = now, None, False
        return back

    def closed(self, node: str, now: float) -> None:
        """Note that a node's connection has closed."""
        peer = self._peers.get(node)
        if peer is not None and peer.closed is None:
            peer.closed = now

    def lost(self, now: float, *, step_over: bool) -> list[NodeLost]:
        """Return the nodes that count as lost from now on, each once.

        Args:
            now: the clock.
            step_over: the step that carries the agents has ended, which closes connections although the
                nodes live; then only the full limit counts.
        """
        found = []
        for node, peer in self._peers.items():
            if peer.lost or not peer.heard:
                continue
            reason = ""
            if now >= peer.heard + self._limit:
                reason = f"no heartbeat for {now - peer.heard:.1f} s"
            elif peer.closed is not None and now >= peer.closed + self._grace and not step_over:
                reason = "its agent's connection closed"
            if reason:
                peer.lost = True
                found.append(NodeLost(node, reason))
        return found

    def is_lost(self, node: str) -> bool:
        """Whether a node counts as lost."""
        peer = self._peers.get(node)
        return peer is not None and peer.lost

    def present(self, node: str) -> bool:
        """Whether a node's agent was heard of and is not lost."""
        peer = self._peers.get(node)
        return peer is not None and bool(peer.heard) and not peer.lost

    def lease_over(self, node: str, now: float) -> bool:
        """Whether the lease of a node's agent has surely run out, so that it has killed the attempt."""
        return now >= self._peers[node].heard + self._limit + LEASE_MARGIN

    def never_heard(self) -> tuple[str, ...]:
        """Return the nodes whose agent never spoke."""
        return tuple(node for node, peer in self._peers.items() if not peer.heard)

    def absent(self) -> tuple[str, ...]:
        """Return the nodes without an agent now."""
        return tuple(n for n, peer in self._peers.items() if not peer.heard or peer.closed is not None)

    def next_deadline(self) -> float | None:
        """Return when ``lost`` may have something new to say."""
        times = []
        for peer in self._peers.values():
            if peer.heard and not peer.lost:
                times.append(peer.heard + self._limit)
                if peer.closed is not None:
                    times.append(peer.closed + self._grace)
        return min(times, default=None)
