"""Python's search for cycles of garbage, kept from looking at 100,000 tasks again and again.

Every record of a journal makes objects that stay; a full collection looks at all there are. Nothing of the
state is ever part of a cycle: what is replaced goes at once, by its reference count.
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
    """Exclude present objects from collections, and collect others seldom: once a journal is read."""
    gc.freeze()
    gc.set_threshold(20_000, 50, 100)
