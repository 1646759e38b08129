"""Storms of matching lines: taken in slices, each line once, and no more once nothing is done about them.

100,000 matching lines took 18 s from the first to the restart, and the isolator heard no signal meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.runtime.detect.build import SPAN, STDOUT, TASK, exception, spec
from tests.runtime.detect.test_watch import CYCLE, log
from whesl.language.detections.cause import CauseDetection
from whesl.language.detections.log import LogDetection, Require
from whesl.language.detections.timers import HangDetection, ProgressDetection
from whesl.language.pattern_and_stream_records import Pattern
from whesl.model.evidence import CauseClass, Detected
from whesl.runtime.detect import task_watch
from whesl.runtime.detect.detectors import ENOUGH
from whesl.runtime.detect.task_watch import MOST_MATCHES, Watch

BAD = Pattern(text="bad")
ODD = Pattern(text=r"^odd (?P<n>\d+)$", regex=True, captures=("n",))
WORSE = Pattern(text="worse")
RULES = spec(
    exception("BAD", log(BAD)),
    exception("ODD", log(ODD)),
    exception("BOTH", LogDetection(patterns=(WORSE, ODD), source=STDOUT, require=Require.ALL, span=SPAN)),
    exception("HANG", HangDetection(pattern=CYCLE, source=STDOUT, timeout=60, warmup=0, span=SPAN)),
)
RARE = spec(exception("RARE", log(Pattern(text="odd"), WORSE, times=10**9)))
SAID = ("bad", "worse", "worst\rworse", "odd 3", "bad odd", "cycle = 1", "fine", "", "a bad\rodd 4")
LINES = st.lists(st.sampled_from(SAID), max_size=40)


@pytest.fixture(scope="module")
def output() -> Iterator[Path]:
    with TemporaryDirectory() as directory:
        yield Path(directory) / "out"


def seen(found: list[Detected]) -> list[tuple[str, int]]:
    return [(item.exception, item.evidence[-1].offset) for item in found]


def all_of(watch: Watch, *, drains: bool) -> list[tuple[str, int]]:
    """Return what a watch raises until it has read all, in the order in which it does."""
    found: list[Detected] = []
    while True:
        found += watch.drain(1000.0) if drains else watch.poll(1000.0)
        due = watch.next_deadline(1000.0)
        if watch.drained if drains else due is None or due > 1000.0:
            return seen(found)


def count_of_judged(watch: Watch, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return a list to which each judged match is added."""
    judged: list[Any] = []
    matched = watch.detectors.matched

    def counted(*given: Any) -> list[Detected]:
        judged.append(given)
        return matched(*given)

    monkeypatch.setattr(watch.detectors, "matched", counted)
    return judged


@given(LINES, st.integers(1, 5), st.booleans())
@pytest.mark.costly
def test_each_line_is_judged_once_however_many_are_taken_at_once(
    output: Path, lines: list[str], most: int, drains: bool
) -> None:
    output.write_text("".join(f"{line}\n" for line in lines))
    sources = {STDOUT: str(output)}
    with pytest.MonkeyPatch.context() as patch:
        results = []
        for at_once in (10**6, most):
            patch.setattr(task_watch, "MOST_MATCHES", at_once)
            watch = Watch(RULES, TASK, sources, "n1", 1000.0, offsets={str(output): 0})
            results.append(all_of(watch, drains=drains))
            watch.close()
    assert results[0] == results[1]


def test_a_look_takes_a_bounded_number_of_lines(output: Path) -> None:
    count = 20 * MOST_MATCHES
    output.write_text("bad\n" * count)
    watch = Watch(RULES, TASK, {STDOUT: str(output)}, "n1", 1000.0, offsets={str(output): 0})
    looks: list[int] = []
    while sum(looks) < count:
        looks.append(len(watch.poll(1000.0)))
    assert max(looks) == MOST_MATCHES and watch.poll(1000.0) == []
    watch.close()


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_of_lines_with_one_pattern_of_all_that_are_needed_the_newest_is_judged(
    output: Path, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    output.write_text(f"worse{end}" * 100_000 + "odd 7\n" + "worse\n" * 100_000)
    watch = Watch(RULES, TASK, {STDOUT: str(output)}, "n1", 1000.0, offsets={str(output): 0})
    judged = count_of_judged(watch, monkeypatch)
    found = all_of(watch, drains=True)
    place = (len("worse") + len(end)) * 100_000
    assert found == [("ODD", place), ("BOTH", place)]
    assert len(judged) < 50_000  # lines of the piece in which both stand
    watch.close()


def test_of_a_storm_of_numbers_few_are_judged(output: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each number took 23 us: after a program of ten million, its end was judged minutes later."""
    number = Pattern(text=r"^step (?P<n>\d+)$", regex=True, captures=("n",))
    rises = ProgressDetection(pattern=number, capture="n", source=STDOUT, timeout=60, span=SPAN)
    rules = spec(exception("STUCK", rises), exception("BAD", log(BAD)))
    output.write_text("".join(f"step {n}\n" for n in range(200_000)) + "bad\n")
    watch = Watch(rules, TASK, {STDOUT: str(output)}, "n1", 1000.0, offsets={str(output): 0})
    judged = count_of_judged(watch, monkeypatch)
    assert [name for name, _ in all_of(watch, drains=True)] == ["BAD"]
    assert watch.detectors.reached().progress == 199_999
    assert len(judged) < 50_000  # lines of the piece in which the other one stands
    watch.new_attempt(1000.0)
    with output.open("a") as file:
        file.write("step 7\nstep 30\nstep 9\n")
    watch.poll(1000.0)
    assert watch.detectors.reached().progress == 30, "few lines are judged one by one"
    watch.close()


def test_a_look_at_the_rest_of_the_output_takes_a_bounded_number_of_lines(
    output: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a program's end one look took 64 MB: 25 s without an ear for a signal."""
    output.write_text("odd\nworse\n" * 10 * MOST_MATCHES)
    watch = Watch(RARE, TASK, {STDOUT: str(output)}, "n1", 1000.0, offsets={str(output): 0})
    judged = count_of_judged(watch, monkeypatch)
    looks = 0
    while not watch.drained:
        before = len(judged)
        assert watch.drain(1000.0) == []
        looks += 1
        assert len(judged) - before <= MOST_MATCHES
    assert len(judged) == 20 * MOST_MATCHES and looks >= 20
    watch.close()


def test_a_settled_exception_is_raised_no_more_and_costs_no_look_at_each_line(
    output: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output.write_text("bad\n")
    watch = Watch(RULES, TASK, {STDOUT: str(output)}, "n1", 1000.0, offsets={str(output): 0})
    judged = count_of_judged(watch, monkeypatch)
    assert seen(watch.poll(1000.0)) == [("BAD", 0)]
    watch.settle(frozenset({"BAD"}))
    with output.open("a") as file:
        file.write("bad\ncycle = 1\n" * 100_000 + "odd 7\n" + "bad\n" * 100_000)
    assert [name for name, _ in all_of(watch, drains=False)] == ["ODD"]
    assert len(judged) < 40_000  # lines of the one piece in which another one stands
    assert watch.detectors.next_deadline(1000.0) == 1002.0  # the hang's timer runs
    watch.new_attempt(1000.0)
    with output.open("a") as file:
        file.write("bad\n")
    assert [name for name, _ in all_of(watch, drains=False)] == ["BAD"]
    watch.close()


class Looks:
    """Decisive lines that are never decisive, and how often one was looked at."""

    patterns: tuple[Pattern, ...] = (BAD, WORSE)

    def __init__(self) -> None:
        self.count = 0

    def cause(self, line: str, file: str) -> None:
        self.count += 1


def test_of_a_storm_of_lines_that_may_show_a_cause_a_limited_number_is_looked_at(output: Path) -> None:
    """With CAUSE, 2 million lines took 45 s until their program's end was judged: a millisecond a line."""
    rules = spec(exception("GPU", CauseDetection(classes=(CauseClass.GPU,), span=SPAN)))
    looks = Looks()
    output.write_text("")
    watch = Watch(rules, TASK, {STDOUT: str(output)}, "n1", 0.0, decisive=looks)
    for attempt in (1, 2):
        with output.open("a") as file:
            file.writelines(f"{number} bad and worse\n" for number in range(2 * ENOUGH))
        assert all_of(watch, drains=attempt == 1) == []
        assert looks.count == attempt * ENOUGH
        watch.new_attempt(1000.0)
    watch.close()
