"""The detectors of a task, on a virtual clock."""

import json
import re
from itertools import count

import pytest

from tests.runtime.detect.build import SPAN, STDERR, STDOUT, TASK, exception, spec
from whesl.language.detections.base import DiskMetric, Usage
from whesl.language.detections.disk import DiskDetection
from whesl.language.detections.exit import CodeRange, ExitDetection
from whesl.language.detections.job_exception import JobExceptionDetection
from whesl.language.detections.kinds import Detection
from whesl.language.detections.log import LogDetection, Require
from whesl.language.detections.node import NodeCondition, NodeDetection
from whesl.language.detections.timers import (
    RESTARTS,
    TIMEOUT_FLOOR,
    HangDetection,
    ProgressDetection,
    SilenceDetection,
)
from whesl.language.pattern_and_stream_records import Pattern, Source
from whesl.model.evidence import Detected
from whesl.model.states import NodeState
from whesl.runtime.detect.detectors import LATE, TICK, Detectors
from whesl.runtime.detect.matcher import Match

A, B, C = Pattern(text="alpha"), Pattern(text="beta"), Pattern(text="gamma")
CYCLE = Pattern(text=r"cycle = (?P<n>\S+)", regex=True, captures=("n",))


class Bench:
    """Detectors of one exception per detection (named E0, E1, ...), with a clock and a log."""

    def __init__(self, *detections: Detection, start: float = 1000.0) -> None:
        self.spec = spec(*(exception(f"E{i}", d) for i, d in enumerate(detections)))
        self.now = start
        self.detectors = Detectors(self.spec, TASK, "n1", start)
        self._offsets = count(0, 10)

    def line(
        self, pattern: Pattern, *, source: Source = STDOUT, at: int | None = None, **captures: str
    ) -> list[str]:
        return [d.exception for d in self.full(pattern, source=source, at=at, **captures)]

    def full(
        self, pattern: Pattern, *, source: Source = STDOUT, at: int | None = None, **captures: str
    ) -> list[Detected]:
        offset = next(self._offsets) if at is None else at
        match = Match(pattern=0, line=b"a line", offset=offset, line_offset=offset, captures=captures)
        return self.detectors.matched((source,), pattern, match, source.stream.value, self.now)

    def wait(self, seconds: float) -> list[str]:
        """Let time pass as the shell does: in ticks."""
        end, found = self.now + seconds, []
        while self.now < end:
            deadline = self.detectors.next_deadline(self.now)
            self.now = min(end, max(deadline if deadline is not None else end, self.now + 1e-3))
            found += [d.exception for d in self.detectors.tick(self.now)]
        return found

    def reborn(self) -> None:
        """Kill the observer and start it anew from its snapshot."""
        state = json.loads(json.dumps(self.detectors.snapshot()))
        self.detectors = Detectors(self.spec, TASK, "n1", self.now)
        self.detectors.restore(state, self.now)


def log(
    *patterns: Pattern,
    times: int = 1,
    within: float | None = None,
    require: Require = Require.ANY,
    source: Source = STDOUT,
) -> LogDetection:
    return LogDetection(
        patterns=patterns, source=source, require=require, times=times, within=within, span=SPAN
    )


def hang(timeout: float, warmup: float = 0.0, source: Source = STDOUT) -> HangDetection:
    return HangDetection(pattern=A, source=source, timeout=timeout, warmup=warmup, span=SPAN)


def test_one_line_with_complete_evidence() -> None:
    bench = Bench(log(A, CYCLE))
    (found,) = bench.full(CYCLE, n="7")
    (evidence,) = found.evidence
    assert (found.exception, evidence.kind, evidence.pattern) == ("E0", "log", CYCLE.text)
    assert (evidence.line, evidence.file, evidence.offset) == ("a line", "stdout", 0)
    assert (evidence.node, evidence.time, evidence.captures) == ("n1", 1000.0, {"n": "7"})


def test_other_sources_and_other_jobs_do_not_count() -> None:
    bench = Bench(log(A, source=STDERR))
    assert bench.line(A) == []
    assert bench.line(A, source=STDERR) == ["E0"]
    rules = spec(exception("E", log(A), jobs=("other*",)))
    assert Detectors(rules, TASK, "n1", 0.0).sources() == {}
    rules = spec(exception("E", log(A), jobs=("solve_1",)))
    assert Detectors(rules, TASK, "n1", 0.0).sources() == {STDOUT: (A,)}


def test_sources_lists_each_pattern_once() -> None:
    progress = ProgressDetection(pattern=CYCLE, capture="n", source=STDERR, timeout=5, span=SPAN)
    silent = SilenceDetection(timeout=5, span=SPAN)
    bench = Bench(log(A, B), log(B, C), hang(10), hang(10, source=STDERR), progress, silent)
    assert bench.detectors.sources() == {STDOUT: (A, B, C), STDERR: (A, CYCLE)}


def test_recurring() -> None:
    bench = Bench(log(A, times=3))
    assert [bench.line(A) for _ in range(7)] == [[], [], ["E0"], [], [], ["E0"], []]


def test_recurring_counts_lines_and_not_patterns_in_them() -> None:
    bench = Bench(log(A, B, times=2))
    assert bench.line(A, at=0) == bench.line(B, at=0) == []
    assert bench.line(B, at=50) == ["E0"]
    assert bench.line(A, at=50) == []


def test_recurring_within_a_sliding_window() -> None:
    bench = Bench(log(A, times=3, within=10))
    found = []
    for step in (0, 6, 6, 3, 1):
        bench.now += step
        found.append(bench.line(A))
    assert found == [[], [], [], ["E0"], []]


def test_custodian_390_a_handler_is_not_fired_again_for_the_same_lines() -> None:
    bench = Bench(log(A, times=2), hang(300))
    assert bench.line(A) == []
    assert bench.line(A) == ["E0"]
    assert bench.wait(3000) == ["E1"]  # hung once: not again every five minutes
    bench.reborn()
    assert bench.wait(3000) == []
    bench.detectors.new_attempt(bench.now)
    assert bench.line(A) == []  # a new attempt starts with no line
    assert bench.wait(301) == ["E1"]
    bench.line(A)  # it lived on all the same (report only): watched again
    assert bench.wait(301) == ["E1"]


def test_all_of_several() -> None:
    bench = Bench(log(A, B, C, require=Require.ALL))
    assert bench.line(B) == bench.line(A) == bench.line(B) == []
    (found,) = bench.full(C)
    assert [line.pattern for line in found.evidence] == ["beta", "alpha", "gamma"]
    assert bench.line(C) == bench.line(A) == []
    assert bench.line(B) == ["E0"]


def test_all_of_several_within() -> None:
    bench = Bench(log(A, B, require=Require.ALL, within=5))
    bench.line(A)
    bench.now += 6
    assert bench.line(B) == []
    bench.now += 4
    assert bench.line(A) == ["E0"]


def test_all_of_several_recurring_within() -> None:
    bench = Bench(log(A, B, require=Require.ALL, times=2, within=5))
    for pattern in (A, B):
        assert bench.line(pattern) == []
    bench.now += 6
    for pattern, expected in ((A, []), (B, []), (B, []), (A, ["E0"])):
        assert bench.line(pattern) == expected


def test_evidence_is_bounded() -> None:
    bench = Bench(log(A, times=10_000))
    for _ in range(9_999):
        assert bench.line(A) == []
    bench.reborn()
    (found,) = bench.full(A)
    assert len(found.evidence) == 8
    assert found.evidence[-1].offset == 99_990


def test_hang_restarts_at_each_match() -> None:
    bench = Bench(hang(10))
    for _ in range(5):
        assert bench.wait(9) == []
        bench.line(A)
    assert bench.wait(9.9) == []
    (found,) = bench.detectors.tick(bench.now + 0.2)
    (evidence,) = found.evidence
    assert (evidence.kind, evidence.pattern, evidence.file) == ("hang", "alpha", "stdout")
    assert (evidence.offset, evidence.line) == (40, "a line")
    assert evidence.detail == "the pattern did not appear for 10 s"


def test_casm_327_no_false_alarm_at_the_start() -> None:
    bench = Bench(hang(46, warmup=600), hang(0.01))
    assert bench.wait(TIMEOUT_FLOOR - 0.1) == []  # never below the floor
    assert bench.wait(0.2) == ["E1"]
    assert bench.wait(600 + 45 - 1.2) == []
    assert bench.wait(1.2) == ["E0"]


def test_a_warm_up_ends_with_the_first_line_and_begins_again_with_a_start_inside_the_attempt() -> None:
    progress = ProgressDetection(pattern=CYCLE, capture="n", source=STDOUT, timeout=10, warmup=600, span=SPAN)
    bench = Bench(hang(10, warmup=600), progress)
    assert bench.wait(300) == []
    bench.line(A)
    bench.line(CYCLE, n="7")
    assert bench.wait(9.9) == []
    bench.line(RESTARTS)  # torchrun starts its workers anew
    assert bench.wait(300) == []
    bench.line(A)
    bench.line(CYCLE, n="5")  # from the checkpoint before
    assert bench.wait(9.9) == []
    assert sorted(bench.wait(0.2)) == ["E0", "E1"]


def test_what_torchrun_prints_when_a_worker_has_failed() -> None:
    line = (
        "E1128 04:02:47.307000 1414 torch/distributed/elastic/multiprocessing/api.py:1002] failed"
        " (exitcode: -9) local_rank: 1 (pid: 1514) of binary: /usr/bin/python3"
    )
    assert re.search(RESTARTS.text, line)
    assert hang(10).new_start() is None, "nothing is looked for without a warm-up"


def test_silence_over_all_outputs() -> None:
    bench = Bench(SilenceDetection(timeout=10, warmup=5, span=SPAN))
    assert bench.wait(14) == []
    bench.detectors.output(0, bench.now)
    bench.detectors.output(1, bench.now)
    assert bench.wait(9.5) == []
    assert bench.wait(1) == ["E0"]
    assert bench.wait(100) == []
    bench.detectors.output(7, bench.now)
    assert bench.wait(11) == ["E0"]


def test_progress_must_rise_above_its_maximum() -> None:
    detection = ProgressDetection(pattern=CYCLE, capture="n", source=STDOUT, timeout=10, span=SPAN)
    bench = Bench(detection)
    for value in ("1", "2.5", "1.0D+03"):
        assert bench.wait(8) == []
        bench.line(CYCLE, n=value)
    for value in ("1000", "7", "x", "nan", "inf"):
        assert bench.wait(1.9) == []
        bench.line(CYCLE, n=value)
    assert bench.wait(1) == ["E0"]
    bench.detectors.new_attempt(bench.now)
    assert bench.wait(9) == []
    bench.line(CYCLE, n="3")  # restarted from its checkpoint
    assert bench.wait(9) == []


def test_time_without_the_observer_is_not_silence() -> None:
    bench = Bench(hang(100))
    assert bench.wait(60) == []
    bench.now += 86_400  # suspended for a day
    assert bench.detectors.tick(bench.now) == []
    bench.now -= 7_200  # and the clock was set back
    assert bench.detectors.tick(bench.now) == []
    assert bench.wait(39) == []
    bench.reborn()
    bench.now += 5_000
    assert bench.wait(0.5) == []
    assert bench.wait(1) == ["E0"]


def test_deadlines_come_often_enough_to_tell_suspension() -> None:
    bench = Bench(hang(1000))
    assert bench.detectors.next_deadline(bench.now) == bench.now + TICK
    bench.now += TICK + LATE + 0.1
    assert bench.detectors.tick(bench.now) == []
    assert bench.wait(999.8) == [], "time without the observer was counted"
    assert bench.wait(0.3) == ["E0"]
    bench = Bench(hang(1.5))
    assert bench.detectors.next_deadline(bench.now) == pytest.approx(bench.now + 1.5)
    assert Bench(log(A)).detectors.next_deadline(0) is None


@pytest.mark.parametrize(
    ("codes", "signals", "status", "raised"),
    [
        ((), (), 0, False),
        ((), (), 1, True),
        ((), (), 137, True),
        (((3, 5),), (), 4, True),
        (((3, 5),), (), 6, False),
        (((0, 0),), (), 0, True),
        ((), (9,), 137, True),
        ((), (15,), 137, False),
        ((), (9,), 9, False),
        (((143, 143),), (), 143, True),
        (((1, 1),), (15,), 143, True),
        ((), (127,), 255, False),
    ],
)
def test_exits(
    codes: tuple[tuple[int, int], ...], signals: tuple[int, ...], status: int, raised: bool
) -> None:
    ranges = tuple(CodeRange(first=first, last=last) for first, last in codes)
    bench = Bench(ExitDetection(codes=ranges, signals=signals, span=SPAN), hang(10))
    found = bench.detectors.exited(status, bench.now)
    assert [d.exception for d in found] == (["E0"] if raised else [])
    assert bench.wait(100) == []  # nothing runs: nothing hangs
    if raised:
        assert f"exit status {status}" in found[0].evidence[0].detail


@pytest.mark.parametrize(
    ("status", "raised"),
    [(0, False), (1, True), (2, False), (126, False), (127, False), (128, True), (139, True), (143, False)],
)
def test_any_exit_but_those(status: int, raised: bool) -> None:
    ranges = tuple(CodeRange(first=first, last=last) for first, last in [(2, 2), (126, 127), (143, 143)])
    bench = Bench(ExitDetection(codes=ranges, excluded=True, span=SPAN))
    assert [d.exception for d in bench.detectors.exited(status, bench.now)] == (["E0"] if raised else [])


def test_nodes_raise_once_until_well_again() -> None:
    bench = Bench(
        NodeDetection(condition=NodeCondition.DOWN, span=SPAN),
        NodeDetection(condition=NodeCondition.DRAINED, span=SPAN),
    )

    def node(name: str, state: NodeState) -> list[str]:
        return [d.exception for d in bench.detectors.node(name, state, "why", bench.now)]

    assert node("n2", NodeState.UNKNOWN) == []
    assert node("n2", NodeState.DRAINED) == ["E1"]
    assert node("n2", NodeState.DOWN) == ["E0"]
    assert node("n2", NodeState.DOWN) == node("n2", NodeState.UNKNOWN) == node("n2", NodeState.DOWN) == []
    assert node("n3", NodeState.DOWN) == ["E0"]
    bench.detectors.new_attempt(bench.now)
    bench.reborn()
    assert node("n2", NodeState.DOWN) == []
    assert node("n2", NodeState.UP) == []
    (found,) = bench.detectors.node("n2", NodeState.DOWN, "lost", bench.now)
    assert (found.evidence[0].node, found.evidence[0].detail) == ("n2", "n2 is down: lost")


@pytest.mark.parametrize(
    ("kind", "severity", "expected"),
    [
        ("exec", 0, ["E0", "E1", "E2"]),
        ("exec", 2, ["E0", "E2"]),
        ("exec", 7, ["E0"]),
        ("Exec", 0, []),
        ("exec2", 0, []),
        ("timeout", 0, ["E3"]),
    ],
)
def test_job_exceptions(kind: str, severity: int, expected: list[str]) -> None:
    bench = Bench(
        JobExceptionDetection(exception_type="exec", span=SPAN),
        JobExceptionDetection(exception_type="exec", severity=0, span=SPAN),
        JobExceptionDetection(exception_type="exec", severity=2, span=SPAN),
        JobExceptionDetection(exception_type="timeout", severity=7, span=SPAN),
    )
    assert bench.detectors.hears_job_exceptions
    found = bench.detectors.job_exception(kind, severity, "lost n2", ["n2", "n3"], "f1", bench.now)
    assert [d.exception for d in found] == expected
    for detected in found:
        assert [item.node for item in detected.evidence] == ["n2", "n3"]
        assert detected.evidence[0].kind == "job-exception"
        assert detected.evidence[0].detail == f"{kind}, severity {severity}, on job f1: lost n2"


def test_a_job_exception_that_names_no_node() -> None:
    bench = Bench(JobExceptionDetection(exception_type="ecc", span=SPAN))
    (found,) = bench.detectors.job_exception("ecc", 3, "", [], "f1", bench.now)
    assert (found.evidence[0].node, found.evidence[0].detail) == ("", "ecc, severity 3, on job f1")
    assert not Bench(ExitDetection(span=SPAN)).detectors.hears_job_exceptions


def test_disks_raise_above_and_once() -> None:
    bench = Bench(
        DiskDetection(path="/scratch", metric=DiskMetric.SPACE, above=0.9, span=SPAN),
        DiskDetection(path="/scratch", metric=DiskMetric.INODES, above=0.5, span=SPAN),
    )

    def disk(fraction: float, metric: DiskMetric = DiskMetric.SPACE, path: str = "/scratch") -> list[str]:
        usage = Usage(path=path, metric=metric, fraction=fraction)
        return [d.exception for d in bench.detectors.disk(usage, bench.now)]

    assert bench.detectors.disk_paths() == (("/scratch", DiskMetric.SPACE), ("/scratch", DiskMetric.INODES))
    assert disk(0.9) == disk(0.99, path="/home") == []
    assert disk(0.91) == ["E0"]
    assert disk(0.95) == []
    assert disk(0.6, DiskMetric.INODES) == ["E1"]
    bench.reborn()
    assert disk(0.95) == disk(0.5) == []
    assert disk(0.95) == ["E0"]


def test_order_is_of_the_log_and_an_exit_comes_last() -> None:
    bench = Bench(log(A), ExitDetection(span=SPAN), hang(1))
    late = bench.detectors.exited(1, bench.now)
    second, first = bench.full(A, at=90), bench.full(A, at=10)
    ordered = sorted(late + second + first, key=lambda d: d.order)
    assert [d.evidence[0].offset for d in ordered] == [10, 90, -1]


def test_snapshot_keeps_windows() -> None:
    bench = Bench(log(A, times=3, within=100), log(A, B, require=Require.ALL))
    bench.line(A)
    bench.line(A)
    bench.reborn()
    assert bench.line(B) == ["E1"]
    assert bench.line(A) == ["E0"]
