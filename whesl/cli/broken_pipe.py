"""Output of commands whose reader may close the pipe, or whose disk may be full."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from typing import Any, TextIO, cast

from rich.console import Console

# A shell's status for a program that SIGPIPE ended; not 0, which `whesl check` uses for "no errors".
READER_GONE = 128 + signal.SIGPIPE


class Screen(Console):
    """A console that leaves a closed pipe to ``whesl.cli.main``, so that all commands exit alike."""

    def on_broken_pipe(self) -> None:
        """Pass the error on; rich itself would end the process with status 1."""
        raise BrokenPipeError


class Lossy:
    """A text stream for commands that must go on without a reader: it drops output that cannot be written.

    Args:
        stream: standard output or standard error.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write ``text``, or drop it."""
        with suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Flush the stream, or drop what cannot be written."""
        with suppress(OSError):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def steady(*, stderr: bool = False) -> Console:
    """Return a console whose write errors do not end the reported work.

    Args:
        stderr: whether it prints on standard error, not on standard output.
    """
    stream = sys.stderr if stderr else sys.stdout
    # Console is typed for a whole text stream, but uses only write, flush, isatty, fileno and encoding.
    return Console(file=cast(TextIO, Lossy(stream))) if stream is not None else Console(quiet=True)


def settle() -> None:
    """Flush standard output and error, or drop what cannot be written, which would fail at the exit."""
    for stream in (sys.stdout, sys.stderr):
        if stream is None:
            continue
        try:
            stream.flush()
        except OSError:
            drop(stream)


def drop(stream: TextIO) -> None:
    """Send all further output of ``stream`` to the null device."""
    with suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)
