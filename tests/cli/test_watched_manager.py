"""What signals do to ``whesl run`` while a call of its workflow manager hangs."""

from __future__ import annotations

import os
import signal
import threading
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from tests.waiting import until
from whesl.cli.launch.watched_manager import watch
from whesl.model.errors import CouldNotObserveError
from whesl.model.workflow import Workflow

WORKFLOW = Workflow(id="w", name="w", wms="batch", root="/", tasks=())


class Manager:
    """A manager whose first look hangs while the run gets signals, and for good after the second one."""

    def __init__(self, signals: int) -> None:
        self.signals = signals
        self.calls: list[str] = []
        self.out = StringIO()
        self.answers = threading.Event()

    def poll(self) -> int | None:
        if self.signals:
            os.kill(os.getpid(), signal.SIGTERM)
            until(lambda: "cancelling" in self.out.getvalue(), "the first signal is heard", 30.0)
            if self.signals == 2:
                os.kill(os.getpid(), signal.SIGTERM)
                self.answers.wait()
            self.signals = 0
        return 3 if "cancel" in self.calls else None

    def cancel(self) -> None:
        self.calls.append("cancel")

    def kill(self) -> None:
        self.calls.append("kill")

    def watched(self, home: Path) -> int:
        console = Console(file=self.out)
        return watch(lambda: self, lambda: self.calls.append("tell"), home, WORKFLOW, console)


def test_the_second_signal_ends_the_run_while_a_look_hangs(tmp_path: Path) -> None:
    """The look at a slurmctld that had gone for good was waited for after each signal."""
    manager = Manager(signals=2)
    with pytest.raises(CouldNotObserveError, match="may still run"):
        manager.watched(tmp_path)
    assert manager.calls == ["kill"], "no further call is made that would hang as well"
    manager.answers.set()


def test_the_first_signal_is_heard_while_a_look_hangs(tmp_path: Path) -> None:
    manager = Manager(signals=1)
    assert manager.watched(tmp_path) == 3
    assert manager.calls == ["cancel", "tell"]
