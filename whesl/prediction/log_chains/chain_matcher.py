"""Finds complete chains in one pass over the messages of all nodes, in constant time per message. Pure.

For each node and chain, the machine keeps the latest begin of each prefix: the moment from which the first i
steps were seen in order. So a chain is complete exactly when its messages are in the log in order and within
its window, with any messages between them.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from whesl.prediction.log_chains.chains_file import Chain

NODES = 200_000  # largest number of nodes that are remembered; the least recently seen nodes are forgotten
SKEW = 3600.0  # seconds by which messages may come out of order; a larger step back is a clock that was set


class Seen(NamedTuple):
    """A message that matched a step: its time in seconds since the epoch, and the begin of its line."""

    time: float
    line: str


class Complete(NamedTuple):
    """A completed chain: the node, the chain's index in the list of chains, and the messages."""

    node: str
    chain: int
    seen: tuple[Seen, ...]

    @property
    def time(self) -> float:
        """Time of the last message, in seconds since the epoch."""
        return self.seen[-1].time


class Half(NamedTuple):
    """A node's incomplete chains: time of its last message, and each prefix as chain, last step, messages."""

    node: str
    last: float
    prefixes: tuple[tuple[int, int, tuple[Seen, ...]], ...]


class Steps:
    """The distinct templates of all chains, with their places in the chains.

    Args:
        chains: the chains, with templates as steps.

    Attributes:
        chains: the chains, with templates as steps.
        templates: the distinct templates.
        places: for each template, its places as pairs of chain index and step index.
    """

    def __init__(self, chains: Sequence[Chain]) -> None:
        self.chains = tuple(chains)
        places: dict[str, list[tuple[int, int]]] = {}
        for number, chain in enumerate(self.chains):
            for place, step in enumerate(chain.steps):
                places.setdefault(step, []).append((number, place))
        self.templates = tuple(places)
        self.places = tuple(map(tuple, places.values()))


class _Node:
    """The state of a node: time of its last message, and the latest messages of each prefix of each chain."""

    __slots__ = ("last", "prefixes")

    def __init__(self) -> None:
        self.last = float("-inf")
        self.prefixes: dict[tuple[int, int], tuple[Seen, ...]] = {}


class Machine:
    """Reads messages that match steps, and returns the chains that they complete.

    Args:
        steps: the templates of all chains; see ``Steps``.
        nodes: largest number of nodes that are remembered.

    Attributes:
        set_back: how often a node's clock went back by more than ``SKEW``, which drops the node's incomplete
            chains.
    """

    def __init__(self, steps: Steps, nodes: int = NODES) -> None:
        self._steps = steps
        self._most = nodes
        self._nodes: OrderedDict[str, _Node] = OrderedDict()
        self.set_back = 0

    def feed(self, node: str, time: float, templates: Iterable[int], line: str = "") -> list[Complete]:
        """Read a message and return the chains that it completes.

        Args:
            node: the message's node.
            time: the message's time, in seconds since the epoch.
            templates: indices into ``Steps.templates`` of the templates that the message matches.
            line: the begin of the message's line, for evidence.
        """
        state = self._nodes.get(node)
        if state is None:
            state = self._nodes[node] = _Node()
            if len(self._nodes) > self._most:
                self._nodes.popitem(last=False)
        else:
            self._nodes.move_to_end(node)
        if time < state.last - SKEW:
            self.set_back += 1
            state.prefixes.clear()
            state.last = time
        time = state.last = max(time, state.last)
        done: list[Complete] = []
        # Steps are taken from a chain's last to its first, so that one message counts as at most one step.
        here = sorted({at for template in templates for at in self._steps.places[template]}, reverse=True)
        for number, place in here:
            if done and done[-1].chain == number:
                continue  # a message that completes a chain does not begin the same chain
            chain = self._steps.chains[number]
            before: tuple[Seen, ...] = ()
            if place:
                found = state.prefixes.get((number, place - 1))
                if found is None:
                    continue
                if time - found[0].time > chain.window:
                    del state.prefixes[number, place - 1]
                    continue
                before = found
            seen = (*before, Seen(time, line))
            if place + 1 < len(chain.steps):
                state.prefixes[number, place] = seen
                continue
            done.append(Complete(node, number, seen))
            for earlier in range(place):
                state.prefixes.pop((number, earlier), None)
        return done

    def halves(self) -> list[Half]:
        """Return the incomplete chains that may still become complete, the least recently seen node first."""
        newest = max((state.last for state in self._nodes.values()), default=0.0)
        found = []
        for node, state in self._nodes.items():
            kept = tuple(
                (number, place, seen)
                for (number, place), seen in state.prefixes.items()
                if newest - seen[0].time <= self._steps.chains[number].window + SKEW
            )
            if kept:
                found.append(Half(node, state.last, kept))
        return found

    def recall(self, halves: Iterable[Half]) -> None:
        """Replace the state by the incomplete chains of another machine of the same chains.

        Args:
            halves: result of ``halves``.

        Raises:
            ValueError: ``halves`` are of other chains; the state does not change.
        """
        nodes: OrderedDict[str, _Node] = OrderedDict()
        for half in halves:
            state = nodes[half.node] = _Node()
            state.last = half.last
            for number, place, seen in half.prefixes:
                if not (0 <= number < len(self._steps.chains) and len(seen) == place + 1):
                    raise ValueError(f"{half.node} has a chain that there is not")
                if place + 1 >= len(self._steps.chains[number].steps):
                    raise ValueError(f"{half.node} has a step that there is not")
                state.prefixes[number, place] = seen
        self._nodes = nodes
