"""Waits in true time: whatever a host's clock says, none is over too soon, and none lasts for ever."""

from __future__ import annotations

from typing import Any

from tests.simulation.world import InvariantError, World
from whesl.runtime.coordinator.core.state import Settings

# The most that a clock is slewed by, twice, and a moment.
PACE, MOMENT = 1e-3, 0.01
# Daemons that are killed while something is due take it up when they are back.
SLACK = 90.0


class BackOffs:
    """Follows the back-offs of one task.

    Args:
        task: its id.
        world: where a home that stalls keeps every isolator from going on.
    """

    def __init__(self, task: str, world: World) -> None:
        self._task = task
        self._world = world
        self._wait: tuple[float, float, int] | None = None  # since when, how long, by which start

    def record(self, kind: str, data: dict[str, Any], time: float, true: float, start: int) -> None:
        """Take the next record, written at ``true`` by the isolator that was started as number ``start``."""
        if kind == "relaunched":
            self._wait = (true, max(data["not_before"] - time, 0.0), start)
        elif kind in ("begun", "raised", "paused", "stopping"):
            self._wait = None
        elif kind in ("attempt", "finished") and self._wait is not None:
            since, length, begun = self._wait
            waited, self._wait = true - since, None
            if start == begun and kind == "attempt" and waited < length * (1 - PACE) - MOMENT:
                self._fail(f"a back-off of {length:g} s lasted {waited:.3f} s")
            if waited - self._world.away("home", since) > length * (1 + PACE) + SLACK:
                self._fail(f"a back-off of {length:g} s lasted {waited:.0f} s")

    def _fail(self, text: str) -> None:
        raise InvariantError("no clock decides", f"{self._task}: {text}")


class Hearing:
    """When the coordinator last heard of each task, over all its starts.

    Args:
        settings: the coordinator's.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._began = 0.0
        self._heard: dict[str, float] = {}

    def started(self, true: float) -> None:
        """A coordinator starts."""
        self._began = true

    def heard(self, task: str, true: float) -> None:
        """A message of a task's owner was taken in."""
        self._heard[task] = true

    def unobserved(self, task: str, true: float) -> None:
        """A task is called silent: it was for long enough, and this very start has missed a heartbeat."""
        since = self._heard.get(task, 0.0)
        quiet, missed = true - since, true - max(since, self._began)
        enough = (1 - PACE) * self._settings.silence - MOMENT, (1 - PACE) * self._settings.doubt - MOMENT
        if quiet < enough[0] or missed < enough[1]:
            text = f"{task} is called silent after {quiet:.2f} s, of which this start has seen {missed:.2f} s"
            raise InvariantError("no clock decides", text)
