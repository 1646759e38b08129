"""Whether functions of arrays are compiled in this process.

To compile takes seconds of processor, to load numba half a second: what is done in less in plain Python needs
neither. The choice is made before ``whesl.prediction.numba_jit`` is loaded, and holds for the process.
"""

from __future__ import annotations

_plain = False


def in_plain_python() -> None:
    """Have the functions run as plain Python; where they are loaded already, they stay as they are."""
    global _plain
    _plain = True


def compiles() -> bool:
    """Whether functions are to be compiled where numba is installed."""
    return not _plain
