"""Growing arrays for compiled loops."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from whesl.prediction.numba_jit import jit


@jit
def grown(array: NDArray[Any], used: int, more: int) -> NDArray[Any]:
    """Return the array, copied to a larger one if needed, with room for ``more`` rows after ``used`` rows.

    Args:
        array: the array.
        used: number of rows in use.
        more: number of further rows needed.
    """
    while used + more > len(array):
        array = np.concatenate((array, np.empty_like(array)))
    return array
