"""A monotonic clock for compiled functions, since numba has no clock."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from whesl.prediction.numba_jit import COMPILES, jit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    def seconds(room: NDArray[np.int64]) -> float:
        """Return the seconds of a clock that never goes back.

        Args:
            room: two numbers of scratch memory, which are overwritten.
        """
        return time.monotonic()

elif COMPILES:
    from numba import types

    _MONOTONIC = time.CLOCK_MONOTONIC
    _read = types.ExternalFunction("clock_gettime", types.int32(types.int32, types.intp))  # from libc

    @jit
    def seconds(room):
        """Return the seconds of a clock that never goes back."""
        _read(_MONOTONIC, room.ctypes.data)
        return room[0] + 1e-9 * room[1]

else:

    def seconds(room):
        """Return the seconds of a clock that never goes back."""
        return time.monotonic()
