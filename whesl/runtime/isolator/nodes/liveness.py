"""The silence of each agent, and the loss of nodes that follows from it. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable

import msgspec

GRACE = 0.2
# Seconds after the end of an agent's connection at which the resource manager's daemon on its node is looked
# at. The intervals grow, since each look is a connection; the death of a slower daemon is still seen.
LOOKS = (0.0, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
# Seconds between two later looks at a node that lives without an agent.
LOOK_SELDOM = 10.0
# Seconds between the two looks that have to find the daemon ended; an agent that was killed alone is back by
# then.
CONFIRM = 0.05
# Seconds after the isolator's return within which connections that closed while it did not run may come back.
SETTLING = 2.0
# Seconds after which, and between which, the daemons of nodes whose agents were never heard are looked at,
# and the most nodes of one round. A node that dies while its agent starts has no connection that could close.
LATE = 2.0
MOST_LATE = 16
# Seconds from the end of a lease until its agent has surely stopped or killed the attempt's processes.
LEASE_MARGIN = 0.6


class NodeUp(msgspec.Struct, frozen=True):
    """A node's agent was heard for the first time, or again."""

    node: str


class NodeLost(msgspec.Struct, frozen=True):
    """A node's agent has been silent for too long, or its connection has closed and not come back."""

    node: str
    reason: str


class _Peer(msgspec.Struct):
    heard: float = 0.0  # time of the agent's last heartbeat, 0: never
    closed: float | None = None  # time at which the agent's connection closed
    excused: bool = False  # the agent's connection closed because its step ended
    lost: bool = False
    dead: bool = False  # the resource manager's daemon on the node has ended as well
    unheld: bool = False  # the node lives, and no agent there holds the node's lease
    looks: int = 0  # number of looks at the node's daemon since the connection closed
    # Time of the first in the present row of looks that found the daemon ended.
    first_gone: float | None = None
    look_at: float | None = None  # time of the next look at the daemon
    late: int = 0  # number of looks while the agent was not heard yet

    @property
    def waits(self) -> bool:
        """Whether the agent was never heard, and nothing is known of its node."""
        return not self.heard and self.closed is None and not self.lost


class Silence:
    """The silence of each agent: pure, on a monotonic clock. Times in seconds.

    Args:
        nodes: the nodes whose agents are expected.
        limit: silence after which a node is lost; also the length of the agents' leases.
        grace: time for a closed connection to come back.
    """

    def __init__(self, nodes: Iterable[str], limit: float, grace: float = GRACE) -> None:
        self._peers = {node: _Peer() for node in nodes}
        self._limit = limit
        self._grace = grace
        self._since = 0.0
        self._settled = 0.0
        self._late_at: float | None = None

    def __contains__(self, node: str) -> bool:
        return node in self._peers

    def heard(self, node: str, now: float) -> bool:
        """Note a sign of life of a node's agent; return True when the node was lost or new.

        Args:
            node: the agent's node.
            now: the time of the sign.
        """
        peer = self._peers.get(node)
        if peer is None:
            return False
        back = peer.lost or not peer.heard
        self._peers[node] = _Peer(heard=now)
        return back

    def answered(self, node: str, when: float) -> bool:
        """Note the time of a node's last answered heartbeat; return True when the node was lost or new.

        Args:
            node: the agent's node.
            when: the time of the answer, 0 for never.
        """
        peer = self._peers.get(node)
        if peer is None or when <= peer.heard:
            return False
        if peer.closed is None or when > peer.closed or peer.lost:
            return self.heard(node, when)
        peer.heard = when
        return False

    def began(self, since: float) -> None:
        """Note that nobody listened before ``since``, so that no silence began earlier."""
        self._since = max(self._since, since)

    def stopped(self, now: float) -> None:
        """Note that this process did not run until now: silence begins anew, connections have to settle."""
        self.began(now)
        self._settled = now + SETTLING

    def closed(self, node: str, now: float) -> None:
        """Note that the connection of a node's agent has closed.

        Args:
            node: the agent's node.
            now: the present time.
        """
        peer = self._peers.get(node)
        if peer is not None and peer.closed is None:
            peer.closed = peer.look_at = now

    def missed(self, nodes: Iterable[str], now: float) -> bool:
        """Whether an agent was never heard on a node that may be dead; the nodes' daemons are looked at.

        Args:
            nodes: the nodes that count.
            now: the present time.
        """
        never = [node for node in nodes if node in self._peers and not self._peers[node].heard]
        for node in never:
            self.closed(node, now)
        return any(not self._peers[node].lost and not self._peers[node].unheld for node in never)

    def late(self, now: float) -> list[str]:
        """Return nodes whose agent was never heard, and whose daemon has to be looked at now."""
        if self._late_at is None:
            self._late_at = now + LATE
        if now < self._late_at:
            return []
        self._late_at = now + LATE
        never = [(peer, node) for node, peer in self._peers.items() if peer.waits]
        never.sort(key=lambda item: item[0].late)
        for peer, _ in never[:MOST_LATE]:
            peer.late += 1
        return [node for _, node in never[:MOST_LATE]]

    def doubtful(self, now: float) -> list[str]:
        """Return the nodes on which the resource manager's daemon has to be looked at now.

        A node is returned once for each look; ``witnessed`` takes the look's result.
        """
        due = []
        for node, peer in self._peers.items():
            if peer.look_at is not None and now >= peer.look_at and not peer.excused:
                peer.look_at = None
                peer.looks += 1
                due.append(node)
        return due

    def witnessed(self, node: str, gone: bool | None, closed: float | None, now: float) -> None:
        """Take the result of a look at a node's daemon.

        Args:
            node: the node.
            gone: True: the daemon has surely ended; False: the node lives; None: nothing was seen.
            closed: ``closed_since`` at the time of the question; results about earlier closings are dropped.
            now: the present time.
        """
        peer = self._peers.get(node)
        if peer is None or peer.closed != closed or peer.dead:
            return
        if peer.closed is None:
            # A daemon that is just started anew has no port for a moment, so a later round has to confirm it.
            if peer.waits and gone and peer.first_gone is not None:
                self.closed(node, now)
            peer.first_gone = now if gone else None
        elif not gone:
            peer.first_gone = None
            # The node has lived after its agent was gone, which stays true when the node is cut off later.
            peer.unheld = peer.unheld or gone is False
            if peer.looks < len(LOOKS):
                peer.look_at = peer.closed + LOOKS[peer.looks]
            elif peer.unheld and peer.heard:
                peer.look_at = now + min(now - peer.closed, LOOK_SELDOM)
        elif peer.first_gone is None:
            peer.first_gone = now
            peer.look_at = now + CONFIRM
        elif now >= peer.first_gone + CONFIRM:
            peer.dead = True
        else:
            peer.look_at = peer.first_gone + CONFIRM

    def closed_since(self, node: str) -> float | None:
        """Return the time at which the connection of a node's agent closed, None while it is open."""
        peer = self._peers.get(node)
        return peer.closed if peer is not None else None

    def lost(self, now: float, *, step_over: bool, listened: float = math.inf) -> list[NodeLost]:
        """Return the nodes that count as lost from now on, each once.

        Args:
            now: the present time.
            listened: the time until which the responder has listened for heartbeats.
            step_over: whether the agents' step has just ended, which closes connections although the nodes
                live; then only the full limit counts, until an agent is heard again.
        """
        found = []
        for node, peer in self._peers.items():
            if step_over and peer.heard and not peer.lost:
                peer.excused = True
            if peer.lost or not (peer.heard or peer.dead):
                continue
            reason = ""
            silent = min(now, listened) - max(peer.heard, self._since)
            if peer.heard and silent >= self._limit:
                reason = f"no heartbeat for {silent:.1f} s"
            elif peer.excused:
                continue
            elif peer.dead:
                reason = "its agent's connection closed" if peer.heard else "no agent was heard"
                reason += ", and the resource manager's daemon has ended"
            elif peer.closed is not None and now >= max(peer.closed + self._grace, self._settled):
                reason = "its agent's connection closed"
            if reason:
                peer.lost = True
                found.append(NodeLost(node, reason))
        return found

    def doubted(self, now: float) -> bool:
        """Whether any node that is not lost has been silent for half of the limit."""
        half = now - self._limit / 2
        return any(
            peer.heard and not peer.lost and max(peer.heard, self._since) <= half
            for peer in self._peers.values()
        )

    def all_silent(self, now: float) -> bool:
        """Whether agents were heard, and none of them for half of the limit."""
        last = max((peer.heard for peer in self._peers.values()), default=0.0)
        return bool(last) and max(last, self._since) + self._limit / 2 <= now

    def undecided(self) -> bool:
        """Whether the connection of any agent has closed, and the loss of its node is not decided yet."""
        return any(
            peer.heard and peer.closed is not None and not peer.lost and not peer.excused
            for peer in self._peers.values()
        )

    def is_lost(self, node: str) -> bool:
        """Whether a node counts as lost."""
        peer = self._peers.get(node)
        return peer is not None and peer.lost

    def present(self, node: str) -> bool:
        """Whether a node's agent was heard and the node is not lost."""
        peer = self._peers.get(node)
        return peer is not None and bool(peer.heard) and not peer.lost

    def is_dead(self, node: str) -> bool:
        """Whether a node's agent and daemon have both ended, so that its lease need not be awaited."""
        return self._peers[node].dead

    def unheld(self, node: str) -> bool:
        """Whether a node lived on after its agent was gone, and no other agent was heard there."""
        return self._peers[node].unheld

    def lease_over(self, node: str, now: float) -> bool:
        """Whether the lease of a node's agent has surely run out, so that the agent has killed the attempt.

        Args:
            node: the agent's node.
            now: the present time.
        """
        peer = self._peers[node]
        return not peer.unheld and now >= max(peer.heard, self._since) + self._limit + LEASE_MARGIN

    def never_heard(self) -> tuple[str, ...]:
        """Return the nodes whose agent was never heard."""
        return tuple(node for node, peer in self._peers.items() if not peer.heard)

    def absent(self) -> tuple[str, ...]:
        """Return the nodes without a connected agent."""
        return tuple(n for n, peer in self._peers.items() if not peer.heard or peer.closed is not None)

    def next_deadline(self, after: float = math.inf) -> float | None:
        """Return when ``lost``, ``doubtful``, ``lease_over`` or ``doubted`` may return a new result.

        ``after``: the time of the last calls of these methods.
        """
        times = []
        for peer in self._peers.values():
            if peer.look_at is not None and not peer.excused:
                times.append(peer.look_at)
            if peer.heard and not peer.lost:
                heard = max(peer.heard, self._since)
                times.append(heard + self._limit)
                times += [half] if (half := heard + self._limit / 2) > after else []
                if peer.closed is not None and not peer.excused:
                    times.append(max(peer.closed + self._grace, self._settled))
        if self._late_at is not None and any(peer.waits for peer in self._peers.values()):
            times.append(self._late_at)
        return min(times, default=None)
