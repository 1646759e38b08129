"""A daemon's time: seconds since the epoch that neither jump nor go back.

A host's clock may jump: NTP steps it, a person corrects it, a virtual machine wakes up. Limits of
silence, back-offs and time-outs counted by it would then be over at once, or never. So a daemon asks the
host's clock once, when it starts, and counts on by the monotonic one, which only ever goes forward.

Times of two hosts are never compared to decide anything: each daemon judges by its own clock.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable


class Clock:
    """One daemon's clock.

    Args:
        wall: the host's clock, seconds since the epoch.
        monotonic: seconds that only go forward, from any beginning.
    """

    def __init__(
        self, wall: Callable[[], float] = time.time, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._monotonic = monotonic
        self._epoch = wall() - monotonic()

    def __call__(self) -> float:
        """Return the time now."""
        return self._monotonic() + self._epoch

    def follow(self, written: float) -> None:
        """Go on from a time that was written down, in case the host's clock has been set back since.

        Args:
            written: the time of an earlier start's record, seconds since the epoch; a value that is no time
                is ignored.
        """
        if math.isfinite(written):
            self._epoch = max(self._epoch, written - self._monotonic())
