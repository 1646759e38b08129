"""Whether functions of arrays are compiled in this process.

Compilation takes seconds of processor time and loading numba half a second, so short work runs faster as
plain Python. The choice is made before ``whesl.prediction.numba_jit`` is loaded, and holds for the whole
process.
"""

from __future__ import annotations

_plain = False


def in_plain_python() -> None:
    """Make array functions run as plain Python; functions that are already loaded do not change."""
    global _plain
    _plain = True


def compiles() -> bool:
    """Whether array functions are compiled when numba is installed."""
    return not _plain
