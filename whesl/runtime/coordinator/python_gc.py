"""Python's collector of cyclic garbage, kept from searching the state of 100,000 tasks again and again.

Every record of a journal makes objects that stay, and a full collection visits all objects. No object of the
state is ever part of a cycle: reference counting frees replaced objects at once.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def put_off() -> Iterator[None]:
    """Collect no cyclic garbage while the block runs."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


def spare() -> None:
    """Exclude present objects from collections, and collect seldom; called after a journal is read."""
    gc.freeze()
    gc.set_threshold(20_000, 50, 100)
