"""A daemon's clock: seconds since the epoch that neither jump nor go back.

A host's clock may jump: NTP steps it, a person corrects it, a virtual machine wakes up. Limits of silence,
back-offs and time-outs by that clock would then end at once, or never. So a daemon reads the host's clock
once, at its start, and then adds the time of the monotonic clock.

No decision compares the times of two hosts: each daemon decides by its own clock.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable


class Clock:
    """One daemon's clock.

    Args:
        wall: returns the host's time, seconds since the epoch.
        monotonic: returns the monotonic clock's seconds.
    """

    def __init__(
        self, wall: Callable[[], float] = time.time, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._monotonic = monotonic
        self._epoch = wall() - monotonic()

    def __call__(self) -> float:
        """Return the present time, seconds since the epoch."""
        return self._monotonic() + self._epoch

    def follow(self, written: float) -> None:
        """Move this clock forward to a recorded time, in case the host's clock was set back since then.

        Args:
            written: the time of an earlier record, seconds since the epoch; an invalid time is ignored.
        """
        if math.isfinite(written):
            self._epoch = max(self._epoch, written - self._monotonic())
