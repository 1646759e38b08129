"""A workflow manager under ``whesl run``: started, shown at work, ended by signals.

Calls that wait for a resource manager run in threads of their own: a signal is heard while one of them hangs.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextlib import ExitStack
from pathlib import Path
from types import FrameType
from typing import TypeVar

from rich.console import Console
from rich.live import Live

from whesl.cli.inspect.watch import Watcher
from whesl.managers.workflow.port import Running
from whesl.model.errors import CouldNotObserveError
from whesl.model.workflow import Workflow
from whesl.runtime.coordinator.client.journal_state import known_state

T = TypeVar("T")

_LOOK = 0.25  # seconds between two checks
_SETTLE = 5.0  # seconds after the manager's end for the last messages of isolators
_AT_ONCE = 2.0  # seconds after the second signal for each call that still runs


def watch(
    start: Callable[[], Running], tell: Callable[[], None], home: Path, workflow: Workflow, console: Console
) -> int:
    """Start a workflow manager, show progress until it has ended, and return its exit status.

    The first SIGINT, SIGTERM or SIGHUP cancels the workflow's jobs, the second ends the wait for them.

    Args:
        start: starts the manager.
        tell: looks at what became of the jobs, after the manager's end, also after an error.
        home: the WHESL home.
        workflow: the workflow.
        console: where progress is shown.

    Raises the manager's errors, and CouldNotObserveError for a manager that a second signal did not end.
    """
    with _Signals() as signals:
        watcher = Watcher(home, workflow.id, known_state(home))
        manager = _Manager(start)
        try:
            _show(manager, signals, watcher, console)
            if not manager.status.done():
                raise CouldNotObserveError(
                    f"the jobs of {workflow.id} were not seen to end, and may still run",
                    hint="`whesl status` shows what their isolators report",
                )
            return manager.status.result()
        finally:
            if manager.status.done():
                _finish(_background(tell), signals)


class _Signals:
    """Counts the signals of a person (Ctrl-C) or a batch system (TERM)."""

    def __init__(self) -> None:
        self.count = 0
        self._before: dict[int, object] = {}

    def __enter__(self) -> _Signals:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            self._before[number] = signal.signal(number, self._caught)
        return self

    def _caught(self, number: int, frame: FrameType | None) -> None:
        self.count += 1

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]  # what signal() gave is what it takes


class _Manager:
    """A manager in a thread of its own, which only ``kill`` does not wait for."""

    def __init__(self, start: Callable[[], Running]) -> None:
        self._start = start
        self._running: Running | None = None
        self._cancelled = threading.Event()
        self.status = _background(self._run)

    def _run(self) -> int:
        running = self._running = self._start()
        asked = False
        while (status := running.poll()) is None:
            if asked:
                time.sleep(_LOOK)
            elif asked := self._cancelled.wait(_LOOK):
                running.cancel()
        return status

    def cancel(self) -> None:
        self._cancelled.set()

    def kill(self) -> None:
        if self._running is not None:
            self._running.kill()


def _show(manager: _Manager, signals: _Signals, watcher: Watcher, console: Console) -> None:
    """Show progress until a manager has ended, or a moment after the second signal."""
    with ExitStack() as stack:
        live: Live | None = None
        if console.is_terminal:
            live = stack.enter_context(Live(console=console, auto_refresh=False, transient=True))
        asked = False
        while signals.count < 2 and not manager.status.done():
            if signals.count and not asked:
                asked = True
                console.print("cancelling; once more to end at once")
                manager.cancel()
            lines = watcher.look()
            if live is not None:
                live.update(watcher.picture(console), refresh=True)
            else:
                _say(lines, console)
            wait((manager.status,), timeout=_LOOK)
    if not manager.status.done():
        manager.cancel()
        manager.kill()
        wait((manager.status,), timeout=_AT_ONCE)
    deadline = time.monotonic() + _SETTLE
    while time.monotonic() < deadline and signals.count < 2 and not watcher.settled():
        time.sleep(_LOOK / 2)
        _say(watcher.look(), console)


def _finish(call: Future[None], signals: _Signals) -> None:
    """Wait for a call until it has ended, or a moment after the second signal."""
    while signals.count < 2 and not call.done():
        wait((call,), timeout=_LOOK)
    wait((call,), timeout=_AT_ONCE)
    if call.done():
        call.result()


def _background(call: Callable[[], T]) -> Future[T]:
    """Return the outcome of a call in a thread that does not delay the end of this process."""
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(call())
        except BaseException as error:  # raised again where the outcome is read
            future.set_exception(error)

    threading.Thread(target=run, name="workflow-manager", daemon=True).start()
    return future


def _say(lines: list[str], console: Console) -> None:
    for text in lines:
        console.print(text, markup=False, highlight=False, soft_wrap=True)
