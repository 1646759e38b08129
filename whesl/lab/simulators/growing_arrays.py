"""Arrays of compiled loops that grow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from whesl.prediction.numba_jit import jit

if TYPE_CHECKING:
    from numpy.typing import NDArray


@jit
def grown(array: NDArray[Any], used: int, more: int) -> NDArray[Any]:
    """Return an array, or a table of rows, with room for ``more`` beside those that are ``used``."""
    while used + more > len(array):
        array = np.concatenate((array, np.empty_like(array)))
    return array
