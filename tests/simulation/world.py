"""The virtual clock and its agenda: the one thing that everything else in the simulation hangs on."""

from __future__ import annotations

import random
from collections.abc import Callable

from tests.equipment.world import START, Agenda
from tests.simulation.rulebook import specification
from tests.simulation.scenario import HostClock, Scenario

# A world that has not come to rest by then never will: far beyond every limit of the cores.
LONGEST = 12_000.0
LOOK_EVERY = 16
# For which every host has been up when a world begins, s.
UPTIME = 1000.0


class InvariantError(AssertionError):
    """An invariant was broken; ``invariant`` is its name."""

    def __init__(self, invariant: str, text: str) -> None:
        super().__init__(f"{invariant}: {text}")
        self.invariant = invariant
        self.lines: list[str] = []  # the trace of the world in which it happened


class Host:
    """A host's clocks as its daemons see them. ``true`` is the world's time.

    Args:
        clock: how it goes wrong.
        true: returns the world's time.
    """

    def __init__(self, clock: HostClock, true: Callable[[], float]) -> None:
        self._clock = clock
        self._true = true

    def monotonic(self) -> float:
        """Seconds that go forward at the host's own pace."""
        return UPTIME + (self._true() - START) * (1.0 + self._clock.drift)

    def wall(self) -> float:
        """Seconds since the epoch, as far as the host knows."""
        stepped = self._clock.step if self._true() - START >= self._clock.at else 0.0
        return START + self.monotonic() - UPTIME + self._clock.offset + stepped

    def lasts(self, seconds: float) -> float:
        """Return how long it really is until the host has counted so many seconds."""
        return seconds / (1.0 + self._clock.drift)


class World(Agenda):
    """Time, chance and the trace.

    Args:
        scenario: what happens in it.
        trace: keep a readable line of everything that happens.
    """

    def __init__(self, scenario: Scenario, *, trace: bool = False) -> None:
        self.scenario = scenario
        self.spec = specification(scenario.rules)
        super().__init__()
        self.tracing = trace
        self.lines: list[str] = []
        self._outages: dict[str, list[tuple[float, float]]] = {}
        for outage in scenario.outages:
            begin = START + outage.at
            self._outages.setdefault(outage.who, []).append((begin, begin + outage.length))

    def host(self, number: int) -> Host:
        """Return the clocks of a host: 0 is the coordinator's, ``number`` the node n``number - 1``."""
        clocks = self.scenario.clocks
        return Host(clocks[number % len(clocks)] if clocks else HostClock(), lambda: self.now)

    def chance(self, name: str) -> random.Random:
        """Return a source of chance of its own, so that one thing left out does not change all others."""
        return random.Random(f"{self.scenario.seed}/{name}")

    def out(self, who: str) -> bool:
        """Whether something is out of reach now."""
        times = self._outages.get(who)
        return times is not None and any(begin <= self.now < end for begin, end in times)

    def until_back(self, who: str) -> float:
        """Return when something that is out of reach now is back, 0 when it is not."""
        times = self._outages.get(who, ())
        return max((end for begin, end in times if begin <= self.now < end), default=0.0)

    def away(self, who: str, since: float) -> float:
        """Return for how many seconds something was out of reach since then."""
        times = self._outages.get(who, ())
        return sum(max(min(end, self.now) - max(begin, since), 0.0) for begin, end in times)

    def note(self, who: str, text: str) -> None:
        """Add a line to the trace. Callers that build long texts look at ``tracing`` first."""
        if self.tracing:
            self.lines.append(f"{self.now - START:9.3f}  {who:<14} {text}")

    def rests(self, over: Callable[[], bool]) -> bool:
        """Let things happen until ``over``, asked now and then; False when the longest time came first."""
        return self.run(over, longest=LONGEST, every=LOOK_EVERY)
