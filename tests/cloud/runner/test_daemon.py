"""The shell alone: what is written down before anything is done."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from whesl.cloud.core.plan_records import Domain, Purpose
from whesl.cloud.providers.port import NoCapacityError
from whesl.cloud.runner import run_records as r
from whesl.cloud.runner.daemon import Shell
from whesl.cloud.runner.events_and_commands import Refused, Start
from whesl.cloud.runner.run_records import ExecutorState
from whesl.model.errors import RefusedError, TransientError, WheslError
from whesl.runtime.journal.sqlite_errors import JournalError


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
    return Shell(
        cast("Any", Decided({})),
        cast("Any", journal),
        {},
        scratch=Path(),
        poll=0.01,
        again=0.01,
        notify=told.append,
        stop=stop,
    )


class Decided:
    """A core that lets all be started that is asked of it, after so many looks; ``forbid`` says no."""

    def __init__(self, executors: dict[str, Any], waits: int = 0, *, forbid: bool = False) -> None:
        self.executors, self.waits, self.forbid = executors, waits, forbid

    def view(self) -> Decided:
        return self

    def must_wait(self, _asked: r.ExecutorAsked, _now: float) -> bool:
        self.waits -= 1
        return self.waits >= 0

    def forbidden(self, _asked: r.ExecutorAsked) -> bool:
        return self.forbid and self.waits <= 0


class Refusing:
    """A cloud that has no machine, and one that is let go of meanwhile."""

    def start(self, _asked: r.ExecutorAsked) -> str:
        raise RefusedError("no such kind")


def test_a_refused_start_is_not_told_to_work_again() -> None:
    # Each refusal was followed by "works again".
    made = shell(Full(0), [])
    asked = r.ExecutorAsked(
        id="e", domain=Domain.CLOUD, stage="s", platform="p", purpose=Purpose.SCHEDULED, seconds=9.0
    )
    executor = SimpleNamespace(since=0.0, state=ExecutorState.ASKED, alive=True)
    made._view = cast("Any", Decided({"e": executor}))
    made._sides = cast("Any", {Domain.CLOUD: Refusing()})
    assert made._start(Start(asked)) is False
    events = [made._events.get_nowait() for _ in range(made._events.qsize())]
    assert ("starting executors, cloud side", "no such kind") in events and len(events) == 2
    made._pools[Domain.CLOUD, "start"] = ThreadPoolExecutor(1)
    made._submit(Domain.CLOUD, "start", lambda: False)
    made._submit(Domain.CLOUD, "start", lambda: True)
    made._pools[Domain.CLOUD, "start"].shutdown()
    assert made._events.qsize() == 1


class Lossy:
    """A cloud whose replies to starts are lost; it counts them, and the executor is to end meanwhile."""

    def __init__(self, executor: Any, error: WheslError) -> None:
        self.executor, self.error, self.started = executor, error, 0

    def start(self, _asked: r.ExecutorAsked) -> str:
        self.started += 1
        self.executor.state = ExecutorState.ENDING
        raise self.error


@pytest.mark.parametrize("state", [ExecutorState.ASKED, ExecutorState.ENDING, ExecutorState.GONE])
@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("error", [TransientError("no reply"), NoCapacityError("none now")])
def test_what_is_to_end_is_not_started(state: ExecutorState, again: bool, error: WheslError) -> None:
    # A start without a reply was made again until it succeeded, whatever had become of the run.
    made = shell(Full(0), [])
    asked = r.ExecutorAsked(
        id="e", domain=Domain.CLOUD, stage="s", platform="p", purpose=Purpose.SCHEDULED, seconds=9.0
    )
    executor = SimpleNamespace(since=0.0, state=state)
    cloud = Lossy(executor, error)
    made._view = cast("Any", Decided({"e": executor}))
    made._sides = cast("Any", {Domain.CLOUD: cloud})
    assert made._start(Start(asked, again=again)) is False
    assert cloud.started == (state is ExecutorState.ASKED)
    events = [made._events.get_nowait() for _ in range(made._events.qsize())]
    # Only what was surely not started is said to be refused.
    called = state is ExecutorState.ASKED
    sure = isinstance(error, NoCapacityError) if called else not again
    assert any(isinstance(one, Refused) for one in events) == (sure and state is not ExecutorState.GONE)


@pytest.mark.parametrize("forbid", [False, True])
def test_an_instance_waits_for_the_cluster_s_answer_and_a_no_is_one_for_it_too(forbid: bool) -> None:
    made = shell(Full(0), [])
    asked = r.ExecutorAsked(
        id="e", domain=Domain.CLOUD, stage="s", platform="p", purpose=Purpose.SCHEDULED, seconds=9.0
    )
    executor = SimpleNamespace(since=0.0, state=ExecutorState.ASKED, alive=True)
    cloud = Lossy(executor, NoCapacityError("none now"))
    core = Decided({"e": executor}, waits=2, forbid=forbid)
    made._view = cast("Any", core)
    made._sides = cast("Any", {Domain.CLOUD: cloud})
    assert made._start(Start(asked)) is False
    assert core.waits <= 0 and cloud.started == (not forbid)
    events = [made._events.get_nowait() for _ in range(made._events.qsize())]
    assert any(isinstance(one, Refused) and "cluster refuses" in one.why for one in events) is forbid


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
