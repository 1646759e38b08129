"""The protocol of progress displays, and a display that shows nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol


class Progress(Protocol):
    """A display of a computation's stages and of the time left."""

    def stage(self, about: str, total: float) -> AbstractContextManager[Callable[[float], None]]:
        """Begin a stage; its context yields ``advance(steps)``, which the caller calls as steps finish.

        Args:
            about: a few words that describe the stage.
            total: number of steps of the stage.
        """

    def note(self, text: str) -> None:
        """Print a line that stays above the progress bar."""


class Silent:
    """A progress display that shows nothing."""

    @contextmanager
    def stage(self, about: str, total: float) -> Iterator[Callable[[float], None]]:
        """Yield a function that ignores its argument.

        Args:
            about: not used.
            total: not used.
        """
        yield lambda steps: None

    def note(self, text: str) -> None:
        """Ignore the text."""
