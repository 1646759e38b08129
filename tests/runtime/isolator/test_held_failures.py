"""Failures that are held back: a line on broken hardware that names a rank and no node."""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.waiting import until
from whesl.model.evidence import Detected, Evidence
from whesl.runtime.isolator.observe.held_failures import LIMIT, PLACED, STILL, HeldFailures

LINE = "[rank1]: RuntimeError: CUDA error: uncorrectable ECC error encountered"


def cause(**captures: str) -> Detected:
    told = Evidence(kind="cause", time=1.0, pattern="gpu-hardware", line=LINE, captures=captures)
    return Detected(exception="BAD_GPU", evidence=(told,))


TIMED_OUT = "RuntimeError: [gloo/transport/tcp/unbound_buffer.cc:78] Timed out waiting 9ms for recv operation"
HUNG = Detected(
    exception="STOOD_STILL",
    evidence=(Evidence(kind="cause", time=1.0, pattern="hang/collective-timeout", line=TIMED_OUT),),
)


def held(log: Path) -> HeldFailures:
    observer: Any = SimpleNamespace(weighed=frozenset(), output_begins=lambda: {str(log): 0})
    return HeldFailures(observer)


@pytest.mark.parametrize(("rank", "node"), [("1", "n04"), ("2", None)], ids=["its rank", "another rank"])
def test_the_node_is_told_by_what_the_launcher_says_of_the_rank(
    tmp_path: Path, rank: str, node: str | None
) -> None:
    log = tmp_path / "log"
    log.write_text(f"{LINE}\nsrun: error: n04: task 1: Exited with exit code 1\n")
    failures, now = held(log), time.monotonic()
    assert failures.judge([cause(rank=rank)], ended=False, now=now) == []
    assert failures.judge([], ended=False, now=now + PLACED - 0.1) == []
    (found,) = until(lambda: failures.judge([], ended=False, now=now + PLACED), "the diagnosis", 60)
    assert found.evidence[0].captures.get("node") == node


def test_it_is_raised_without_a_node_when_none_is_told_in_time(tmp_path: Path) -> None:
    failures = held(tmp_path / "none")
    assert failures.judge([cause()], ended=False, now=10.0) == []
    assert failures.judge([], ended=False, now=10.0 + PLACED + LIMIT) == [cause()]


def test_of_an_attempt_that_has_ended_the_whole_output_is_diagnosed_instead(tmp_path: Path) -> None:
    failures = held(tmp_path / "none")
    assert failures.judge([cause()], ended=False, now=10.0) == []
    assert failures.judge([], ended=True, now=11.0) == []
    assert failures.deadline is None


def test_a_node_that_the_line_names_is_not_waited_for(tmp_path: Path) -> None:
    assert held(tmp_path / "none").judge([cause(node="n02")], ended=False, now=1.0) == [cause(node="n02")]


@pytest.mark.parametrize(
    ("after", "raised"),
    [("srun: error: n01: task 0: Exited with exit code 1", ["STOOD_STILL"]), ("step 8\nstep 9\nstep 10", [])],
    ids=["srun waits for a rank that hangs", "torchrun has started the ranks anew"],
)
def test_a_collective_that_timed_out_counts_where_nothing_has_gone_on(
    tmp_path: Path, after: str, raised: list[str]
) -> None:
    log = tmp_path / "log"
    log.write_text(f"step 7\nstep 8\n{TIMED_OUT}\n{after}\n")
    failures, now = held(log), time.monotonic()
    assert failures.judge([HUNG], ended=False, now=now) == []
    other = cause(node="n02")
    assert failures.judge([other], ended=False, now=now + 1) == [other], "it does not wait as well"
    assert failures.deadline == now + STILL
    found = failures.judge([], ended=False, now=now + STILL)
    while failures.deadline is not None:
        found += failures.judge([], ended=False, now=now + STILL)
        time.sleep(0.05)
    assert [each.exception for each in found] == raised
