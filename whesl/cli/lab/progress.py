"""Progress on standard error: bars with the time left on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console

from whesl.cli.broken_pipe import steady
from whesl.lab.execution.progress_interface import Progress, Silent

# Seconds between two lines on a long stage, without a terminal.
_PAUSE = 10.0


def shown(*, quiet: bool) -> Progress:
    """Return the progress display of a command: bars on a terminal, lines elsewhere.

    Args:
        quiet: whether to show no progress.
    """
    if quiet:
        return Silent()
    console = steady(stderr=True)
    return Bars(console) if console.is_terminal else Lines(console)


class Bars(Progress):
    """Bars of ``rich``, one for each running stage, removed at the stage's end.

    Args:
        console: the terminal.
    """

    def __init__(self, console: Console) -> None:
        from rich import progress

        self._console = console
        self._bars = progress.Progress(
            progress.TextColumn("{task.description}"),
            progress.BarColumn(),
            progress.TaskProgressColumn(),
            progress.TimeElapsedColumn(),
            progress.TextColumn("left"),
            progress.TimeRemainingColumn(),
            console=console,
            transient=True,
        )
        self._under_way = 0

    @contextmanager
    def stage(self, about: str, total: float) -> Iterator[Callable[[float], None]]:
        if not self._under_way:
            self._bars.start()
        self._under_way += 1
        task: Any = self._bars.add_task(about.replace("[", "\\["), total=total)
        try:
            yield lambda steps: self._bars.advance(task, steps)
        finally:
            self._bars.remove_task(task)
            self._under_way -= 1
            if not self._under_way:
                self._bars.stop()

    def note(self, text: str) -> None:
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)


class Lines(Progress):
    """Plain lines on long stages.

    Args:
        console: the console for the lines.
        clock: returns seconds since any epoch.
    """

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = console
        self._clock = clock

    @contextmanager
    def stage(self, about: str, total: float) -> Iterator[Callable[[float], None]]:
        # The time left is printed at most every ten seconds.
        begun = last = self._clock()
        done = 0.0

        def advance(steps: float) -> None:
            nonlocal last, done
            done += steps
            now = self._clock()
            if now - last < _PAUSE or done <= 0 or done >= total:
                return
            last = now
            left = (now - begun) * (total - done) / done
            self.note(f"{about}: {100 * done / total:.0f} %, about {duration(left)} left")

        yield advance

    def note(self, text: str) -> None:
        """Print one line."""
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)


def duration(seconds: float) -> str:
    """Return a remaining time in words: 40 s, 12 min, 3.5 h.

    Args:
        seconds: the time in seconds.
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
