"""Which chains are complete: one pass over the messages of all nodes, in constant time for each. Pure.

For each node and chain, the machine keeps the latest begin of each prefix: the first i steps were seen, in
    order, from that moment on. So a chain is complete exactly when its messages stand in the log in order,
    within its window, whatever stands between them.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from whesl.prediction.log_chains.chains_file import Chain

NODES = 200_000  # whose messages are remembered; of more, those that were heard of last
SKEW = 3600.0  # seconds by which messages may come out of order; a clock that goes back further was set


class Seen(NamedTuple):
    """A message that was a step: its time and its line's beginning."""

    time: float
    line: str


class Complete(NamedTuple):
    """A chain that is complete on a node: its place in the list of chains, and the messages."""

    node: str
    chain: int
    seen: tuple[Seen, ...]

    @property
    def time(self) -> float:
        """When the last message was logged, in seconds since the epoch."""
        return self.seen[-1].time


class Half(NamedTuple):
    """A node's chains that are not complete: the chain, its last step that was seen, the messages."""

    node: str
    last: float
    prefixes: tuple[tuple[int, int, tuple[Seen, ...]], ...]


class Steps:
    """The templates of all chains, each once, and where they stand.

    Args:
        chains: the chains, with templates as steps.

    Attributes:
        chains: the same.
        templates: all templates.
        places: for each template, the chains and steps that it is.
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
    """What is remembered of a node: the last time, and the latest begin of each prefix of each chain."""

    __slots__ = ("last", "prefixes")

    def __init__(self) -> None:
        self.last = float("-inf")
        self.prefixes: dict[tuple[int, int], tuple[Seen, ...]] = {}


class Machine:
    """Takes in messages that are steps, and tells of chains that are complete.

    Args:
        steps: see ``Steps``.
        nodes: how many nodes are remembered at the most.

    Attributes:
        set_back: how often a node's clock went back by more than ``SKEW``; what was begun on it is forgotten.
    """

    def __init__(self, steps: Steps, nodes: int = NODES) -> None:
        self._steps = steps
        self._most = nodes
        self._nodes: OrderedDict[str, _Node] = OrderedDict()
        self.set_back = 0

    def feed(self, node: str, time: float, templates: Iterable[int], line: str = "") -> list[Complete]:
        """Take in a message and return the chains that it completes.

        Args:
            node: its node.
            time: when it was logged, in seconds since the epoch.
            templates: those that it is of, as places in ``Steps.templates``.
            line: how its line begins, for evidence.
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
        # From a chain's last step to its first: one message is one step, and no two.
        here = sorted({at for template in templates for at in self._steps.places[template]}, reverse=True)
        for number, place in here:
            if done and done[-1].chain == number:
                continue  # a message that completes a chain does not begin it
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
        """Return what may still become complete; the node that was heard of last is the last."""
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
        """Take up what another machine of the same chains has seen.

        Args:
            halves: of ``halves``.

        Raises:
            ValueError: they are not of these chains; nothing is taken up.
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
