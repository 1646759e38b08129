"""Telling that this process itself did not run: stopped, swapped out, starved, or its machine paused. Pure.

An event loop knows when it will wake at the latest. A later waking means that it was held up, and nobody
can say what others did meanwhile: such time counts for no lease, no silence and no timer.
"""

from __future__ import annotations

# Seconds by which a loop may wake late on a busy machine.
SLACK = 1.0


class Stoppage:
    """One event loop's times, on a monotonic clock.

    Args:
        now: seconds.
        slack: lateness in seconds that means nothing.
    """

    def __init__(self, now: float, slack: float = SLACK) -> None:
        self._due = now
        self._slack = slack

    def waits(self, until: float) -> None:
        """Note that the loop goes to sleep, and wakes at ``until`` at the latest."""
        self._due = until

    def found(self, now: float) -> float:
        """Return for how many seconds the process did not run before this waking, 0 for none."""
        late, self._due = now - self._due, now
        return late if late > self._slack else 0.0


class RunTime:
    """Measures for how long a loop has run that reads the clock many times a second.

    Args:
        now: seconds, on a monotonic clock.
    """

    def __init__(self, now: float) -> None:
        self._last = now
        self._ran = 0.0

    def at(self, now: float) -> float:
        """Return for how many seconds it has run until now; a longer step than ``SLACK`` counts nothing."""
        step, self._last = now - self._last, now
        if step <= SLACK:
            self._ran += step
        return self._ran
