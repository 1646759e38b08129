"""What commands print to, when the reader may go away or the disk behind it may be full."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from typing import Any, TextIO, cast

from rich.console import Console

# As the shell shows a program that SIGPIPE ended; never 0, which would call unread findings "clean".
READER_GONE = 128 + signal.SIGPIPE


class Screen(Console):
    """A console that leaves a closed pipe to ``whesl.cli.main``, for one exit status with all commands."""

    def on_broken_pipe(self) -> None:
        """Let the error through; rich itself would end the process with status 1."""
        raise BrokenPipeError


class Lossy:
    """A text stream for commands that must go on without a reader: output that cannot be written is lost.

    Args:
        stream: standard output or standard error.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write ``text`` if possible."""
        with suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Pass on what was written if possible."""
        with suppress(OSError):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def steady(*, stderr: bool = False) -> Console:
    """Return a console whose failure is no failure of the work that it reports on."""
    stream = sys.stderr if stderr else sys.stdout
    # Console wants a whole text stream and uses write, flush, isatty, fileno and encoding.
    return Console(file=cast(TextIO, Lossy(stream))) if stream is not None else Console(quiet=True)


def settle() -> None:
    """Write out what is left; what cannot be written now is dropped before the interpreter trips over it."""
    for stream in (sys.stdout, sys.stderr):
        if stream is None:
            continue
        try:
            stream.flush()
        except OSError:
            drop(stream)


def drop(stream: TextIO) -> None:
    """Send all that is still written to ``stream`` nowhere."""
    with suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)
