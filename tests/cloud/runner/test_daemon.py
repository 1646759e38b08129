"""The shell alone: what is written down before anything is done."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from whesl.cloud.runner import records as r
from whesl.cloud.runner.daemon import Shell
from whesl.journal import JournalError


class Full:
    """A journal that has no room for so many calls."""

    def __init__(self, calls: int, reason: str = "full") -> None:
        self.calls, self.reason = calls, reason
        self.written: list[Any] = []

    def append_many(self, content: list[Any], _time: float) -> None:
        if self.calls:
            self.calls -= 1
            raise JournalError("could not write: no room", reason=self.reason)
        self.written += content


def shell(journal: Full, told: list[r.Record], stop: Callable[[], bool] = lambda: False) -> Shell:
    nothing = cast("Any", None)
    return Shell(
        nothing,
        cast("Any", journal),
        {},
        scratch=Path(),
        poll=0.01,
        again=0.01,
        notify=told.append,
        stop=stop,
    )


RECORD = r.TaskFailed(task="a", executor="e", attempt=1, status=1)


def test_a_full_disk_is_waited_for_and_told_once() -> None:
    # A run of hours ended of a minute without room, and with it what it had running until their end times.
    journal, told = Full(3), list[r.Record]()
    shell(journal, told)._take(([RECORD], []))
    assert [one for _, one in journal.written] == [RECORD]
    trouble, over, record = told
    assert isinstance(trouble, r.Trouble) and "no room; the run waits" in trouble.why
    assert isinstance(over, r.Trouble) and over.over
    assert record == RECORD


@pytest.mark.parametrize(("reason", "stop"), [("damaged", False), ("full", True)])
def test_what_does_not_pass_and_a_stop_end_the_run(reason: str, stop: bool) -> None:
    told: list[r.Record] = []
    with pytest.raises(JournalError):
        shell(Full(3, reason), told, lambda: stop)._take(([RECORD], []))
    assert not told
