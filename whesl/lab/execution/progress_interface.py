"""How a long computation says how far it is: a protocol, and the one that says nothing."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager


class Progress(Protocol):
    """Told about stages of a computation; shows them with the time left."""

    def stage(self, about: str, total: float) -> AbstractContextManager[Callable[[float], None]]:
        """Begin a stage. Its context gives ``advance(steps)``, to be called as steps are done.

        Args:
            about: what is done, in a few words.
            total: how many steps there are.
        """

    def note(self, text: str) -> None:
        """Print a line that stays above the bar."""


class Silent:
    """Says nothing."""

    @contextmanager
    def stage(self, about: str, total: float) -> Iterator[Callable[[float], None]]:
        """Begin a stage."""
        yield lambda steps: None

    def note(self, text: str) -> None:
        """Say nothing."""
