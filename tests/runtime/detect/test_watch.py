"""The whole room on real files: what the isolator does with it."""

import json
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.runtime.detect.build import SPAN, STDERR, STDOUT, TASK, exception, spec
from whesl.language.detections.base import DiskMetric, Usage
from whesl.language.detections.disk import DiskDetection
from whesl.language.detections.exit import ExitDetection
from whesl.language.detections.log import LogDetection
from whesl.language.detections.node import NodeCondition, NodeDetection
from whesl.language.detections.timers import HangDetection, ProgressDetection, SilenceDetection
from whesl.language.pattern_and_stream_records import Pattern, Source, Stream
from whesl.language.spec import Spec
from whesl.model.errors import UsageError
from whesl.model.evidence import Detected
from whesl.model.states import NodeState
from whesl.model.workflow import Task
from whesl.runtime.detect.regex_canonical_form import PatternError
from whesl.runtime.detect.task_watch import SKIM_SIZE, Watch

QUOTA = Pattern(text="Disk Quota Expired")
CYCLE = Pattern(text=r"cycle = (?P<n>\d+)", regex=True, captures=("n",))
MPI = Pattern(text=r"\[(?P<host>\w+):\d+\] An error occurred in MPI_", regex=True, captures=("host",))


def log(*patterns: Pattern, source: Source = STDOUT, times: int = 1) -> LogDetection:
    return LogDetection(patterns=patterns, source=source, times=times, span=SPAN)


RULES = spec(
    exception("QUOTA", log(QUOTA)),
    exception("CRASH", log(MPI, source=STDERR)),
    exception("HANG", HangDetection(pattern=CYCLE, source=STDOUT, timeout=60, warmup=30, span=SPAN)),
    exception("FAILED", ExitDetection(span=SPAN)),
)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "job.out"


@pytest.fixture
def err(tmp_path: Path) -> Path:
    return tmp_path / "job.err"


@pytest.fixture
def make(out: Path, err: Path) -> Iterator[Callable[..., Watch]]:
    made = []

    def build(rules: Spec = RULES, now: float = 1000.0, **options: object) -> Watch:
        sources = {STDOUT: str(out), STDERR: str(err)}
        watch = Watch(rules, TASK, sources, "n1", now, **options)  # type: ignore[arg-type]  # passed on
        made.append(watch)
        return watch

    yield build
    for watch in made:
        watch.close()


def append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


def names(found: list[Detected]) -> list[str]:
    return [detected.exception for detected in found]


@pytest.mark.parametrize("engine", ["hyperscan", "re2"])
@pytest.mark.parametrize("tail", ["auto", "poll"])
def test_from_bytes_to_evidence(
    make: Callable[..., Watch], out: Path, err: Path, engine: str, tail: str
) -> None:
    out.write_text("Disk Quota Expired, of an older job\n")
    watch = make(engine=engine, tail=tail)
    append(out, "cycle = 1\n[3] Disk Quota Exp")
    assert watch.poll(1001.0) == []
    append(out, "ired")
    (found,) = watch.poll(1002.0)
    (evidence,) = found.evidence
    assert (found.exception, evidence.pattern, evidence.line) == (
        "QUOTA",
        QUOTA.text,
        "[3] Disk Quota Expired",
    )
    assert (evidence.file, evidence.offset) == (str(out), 36 + 10)
    assert (evidence.node, evidence.time, evidence.kind) == ("n1", 1002.0, "log")
    append(out, " on /scratch\n")
    append(err, "[n7:4711] An error occurred in MPI_Recv\n")
    (found,) = watch.poll(1003.0)
    assert (found.exception, found.evidence[0].captures) == ("CRASH", {"host": "n7"})


def test_stdout_and_stderr_in_one_file_are_read_once(tmp_path: Path) -> None:
    both = tmp_path / "slurm-1.out"
    link = tmp_path / "slurm-1.err"
    link.symlink_to(both)
    rules = spec(
        exception("OUT", log(QUOTA)),
        exception("ERR", log(QUOTA, source=STDERR)),
        exception("SILENT", SilenceDetection(timeout=5, span=SPAN)),
    )
    watch = Watch(rules, TASK, {STDOUT: str(both), STDERR: str(link)}, "n1", 0.0)
    append(both, "Disk Quota Expired\n")
    found = watch.poll(1.0)
    assert sorted(names(found)) == ["ERR", "OUT"]
    assert watch.snapshot()["detectors"]["bytes"] == 19
    watch.close()


def test_an_error_at_the_end_is_seen_before_the_exit(make: Callable[..., Watch], out: Path) -> None:
    watch = make()
    append(out, "x" * 3_000_000 + "\nDisk Quota Expired")
    found = watch.drain(1001.0) + watch.detectors.exited(1, 1001.0)
    assert names(sorted(found, key=lambda detected: detected.order)) == ["QUOTA", "FAILED"]
    assert names(watch.detectors.exited(137, 1002.0)) == ["FAILED"]


def test_a_regex_in_an_unfinished_last_line_is_judged_by_drain(make: Callable[..., Watch], err: Path) -> None:
    watch = make()
    append(err, "[n3:1] An error occurred in MPI_Send")
    assert watch.poll(1001.0) == []
    assert names(watch.drain(1002.0)) == ["CRASH"]
    assert watch.drain(1003.0) == []


def test_a_backlog_is_read_before_a_hang_is_judged(make: Callable[..., Watch], out: Path) -> None:
    watch = make()
    append(out, "noise\n" * 1000 + "cycle = 7\n")
    now = 1000.0
    while now < 1095.0:  # read in small pieces, one a second; the time-out passes on the way
        now += 1.0
        assert watch.poll(now, 50) == []
    while watch.next_deadline(now) == now:
        assert watch.poll(now, 50) == []
    now += 1.0
    assert watch.poll(now) == []


def test_hang_with_its_last_line(make: Callable[..., Watch], out: Path) -> None:
    watch = make()
    append(out, "cycle = 41\n")
    now, found = 1000.0, []
    while now < 1095.0:
        deadline = watch.next_deadline(now)
        assert deadline is not None
        now = max(deadline, now + 0.5)
        found += watch.poll(now)
    assert names(found) == ["HANG"]
    (evidence,) = found[0].evidence
    assert (evidence.line, evidence.captures, evidence.offset) == ("cycle = 41", {"n": "41"}, 0)


def test_a_new_attempt_starts_clean(make: Callable[..., Watch], out: Path) -> None:
    watch = make(spec(exception("TWICE", log(QUOTA, times=2))))
    append(out, "Disk Quota Expired\n")
    assert watch.poll(1.0) == []
    append(out, "Disk Quota Expired\nDisk Quota")  # the killed attempt goes on printing for a moment
    watch.new_attempt(2.0)
    append(out, " Expired\n")
    assert watch.poll(3.0) == []
    append(out, "Disk Quota Expired\n")
    assert watch.poll(4.0) == []
    append(out, "Disk Quota Expired\n")
    assert names(watch.poll(5.0)) == ["TWICE"]


def test_a_new_attempt_may_have_new_files(make: Callable[..., Watch], tmp_path: Path, out: Path) -> None:
    watch = make()
    second = tmp_path / "attempt-2" / "stdout"
    watch.new_attempt(1.0, {STDOUT: str(second), STDERR: str(second)}, offsets={str(second): 0})
    append(out, "Disk Quota Expired\n")
    second.parent.mkdir()
    append(second, "Disk Quota Expired\n")
    (found,) = watch.poll(2.0)
    assert found.evidence[0].file == str(second)


@pytest.mark.parametrize("tail", ["auto", "poll"])
def test_a_killed_isolator_loses_and_repeats_nothing(
    make: Callable[..., Watch], out: Path, err: Path, tail: str
) -> None:
    watch = make(tail=tail)
    append(out, "Disk Quota Expired, and cycle = 12")
    assert names(watch.poll(1001.0)) == ["QUOTA"]
    state = json.loads(json.dumps(watch.snapshot()))
    watch.close()
    append(out, "34\nDisk Quota Expired again\n")
    append(err, "[n7:4711] An error occurred in MPI_Recv\n")
    watch = make(tail=tail)
    watch.restore(state, 2000.0)
    found = watch.poll(2000.1)
    assert sorted(names(found)) == ["CRASH", "QUOTA"]
    assert {d.evidence[0].line for d in found} == {
        "Disk Quota Expired again",
        "[n7:4711] An error occurred in MPI_Recv",
    }
    assert watch.snapshot()["detectors"]["detectors"]["HANG#0"]["last"]["captures"] == {"n": "1234"}
    assert watch.poll(2001.0) == []


def test_a_state_of_another_version_is_refused(make: Callable[..., Watch]) -> None:
    watch = make()
    with pytest.raises(UsageError, match="version"):
        watch.restore({**watch.snapshot(), "version": 99}, 0.0)


def test_rotation_does_not_join_lines(make: Callable[..., Watch], out: Path) -> None:
    watch = make()
    append(out, "Disk Quota ")
    assert watch.poll(1001.0) == []
    out.rename(out.with_suffix(".1"))
    append(out, "Expired\nDisk Quota Expired\n")
    found = watch.poll(1003.0) + watch.poll(1004.0)
    assert [(d.exception, d.evidence[0].offset) for d in found] == [("QUOTA", 8)]


def test_rotation_ends_the_line_that_was_unfinished(make: Callable[..., Watch], err: Path) -> None:
    watch = make()
    append(err, "[n3:1] An error occurred in MPI_Send")
    assert watch.poll(1001.0) == []
    err.rename(err.with_suffix(".1"))
    append(err, "new\n")
    (found,) = watch.poll(1003.0) + watch.poll(1004.0)
    assert found.evidence[0].captures == {"host": "n3"}


def test_extra_files_come_from_the_workspace(tmp_path: Path) -> None:
    source = Source(stream=Stream.FILE, path="logs/app.log")
    task = Task(id="wf/solve", step="solve", workspace=str(tmp_path))
    watch = Watch(spec(exception("E", log(QUOTA, source=source))), task, {}, "n1", 0.0)
    (tmp_path / "logs").mkdir()
    append(tmp_path / "logs" / "app.log", "Disk Quota Expired\n")
    assert names(watch.poll(1.0)) == ["E"]
    watch.close()


def test_what_cannot_be_watched_is_refused() -> None:
    with pytest.raises(UsageError, match="stdout"):
        Watch(RULES, TASK, {}, "n1", 0.0)
    bad = spec(exception("E", log(Pattern(text="(?=x)", regex=True))))
    with pytest.raises(PatternError):
        Watch(bad, TASK, {STDOUT: "/dev/null"}, "n1", 0.0)


def test_problems_are_told(out: Path) -> None:
    out.mkdir()
    watch = Watch(spec(exception("E", log(QUOTA))), TASK, {STDOUT: str(out)}, "n1", 0.0)
    watch.poll(1.0)
    assert "not a regular file" in watch.problems()[str(out)]
    watch.close()


def test_nodes_and_disks_are_judged_beside_the_output(make: Callable[..., Watch]) -> None:
    rules = spec(
        exception("DOWN", NodeDetection(condition=NodeCondition.DOWN, span=SPAN)),
        exception("FULL", DiskDetection(path="/s", metric=DiskMetric.SPACE, above=0.9, span=SPAN)),
        exception(
            "STUCK",
            ProgressDetection(pattern=CYCLE, capture="n", source=STDOUT, timeout=10, span=SPAN),
        ),
    )
    watch = make(rules)
    assert names(watch.detectors.node("n2", NodeState.DOWN, "", 1001.0)) == ["DOWN"]
    assert watch.detectors.disk_paths() == (("/s", DiskMetric.SPACE),)
    full = Usage(path="/s", metric=DiskMetric.SPACE, fraction=1.0)
    assert names(watch.detectors.disk(full, 1001.0)) == ["FULL"]
    found = [detected for now in range(1001, 1020) for detected in watch.poll(float(now))]
    assert names(found) == ["STUCK"]


WRITER = """
import sys, time
for n in range(20000):
    print("cycle = %d" % n, "." * 60)
print("Disk Quota Expired", end="", flush=True)
sys.stdin.readline()
sys.stderr.write("[n9:1] An error occurred in MPI_Bcast\\\\n")
sys.exit(3)
"""


@pytest.mark.parametrize("tail", ["auto", "poll"])
def test_a_real_program_in_an_event_loop(make: Callable[..., Watch], out: Path, err: Path, tail: str) -> None:
    watch = make(now=time.time(), tail=tail)
    with out.open("ab") as stdout, err.open("ab") as stderr:
        process = subprocess.Popen(
            [sys.executable, "-c", WRITER], stdin=subprocess.PIPE, stdout=stdout, stderr=stderr
        )
    found: list[Detected] = []
    end = time.monotonic() + 60
    while not found:
        assert time.monotonic() < end
        now = time.time()
        deadline = watch.next_deadline(now)
        pause = 1.0 if deadline is None else min(1.0, max(0.0, deadline - now))
        handle = watch.fileno()
        select.select([handle] if handle is not None else [], [], [], pause)
        found += watch.poll(time.time())
    assert names(found) == ["QUOTA"]
    process.communicate(b"\n", timeout=60)
    assert process.returncode == 3
    rest = watch.drain(time.time()) + watch.detectors.exited(process.returncode, time.time())
    assert names(rest) == ["CRASH", "FAILED"]
    assert rest[0].evidence[0].captures == {"host": "n9"}


def test_all_output_is_one_source_whether_it_is_one_file_or_two(
    out: Path, err: Path, make: Callable[..., Watch]
) -> None:
    both = log(QUOTA, source=Source(stream=Stream.OUTPUT), times=2)
    rules = spec(exception("QUOTA", both))
    watch = make(rules)
    append(out, "Disk Quota Expired\n")
    assert watch.poll(1001.0) == []
    append(err, "Disk Quota Expired\n")
    (found,) = watch.poll(1002.0)
    assert [Path(evidence.file).name for evidence in found.evidence] == ["job.out", "job.err"]

    single = Watch(rules, TASK, {STDOUT: str(out), STDERR: str(out)}, "n1", 1000.0)
    append(out, "Disk Quota Expired\n")
    assert single.poll(1003.0) == []  # one line in one file is one line
    append(out, "Disk Quota Expired\n")
    assert len(single.poll(1004.0)) == 1
    single.new_attempt(1005.0)
    append(out, "Disk Quota Expired\nDisk Quota Expired\n")
    assert len(single.poll(1006.0)) == 1
    single.close()


def test_the_absence_of_a_line_in_all_output(out: Path, err: Path, make: Callable[..., Watch]) -> None:
    hang = HangDetection(pattern=CYCLE, source=Source(stream=Stream.OUTPUT), timeout=3, span=SPAN)
    watch = make(spec(exception("HANG", hang)))
    for now in (1002.0, 1004.0):
        append(err, "cycle = 1\n")
        assert watch.poll(now) == []
    assert watch.poll(1006.0) == []
    (found,) = watch.poll(1008.0)
    assert found.evidence[-1].file == str(err)


@pytest.fixture
def watched(make: Callable[..., Watch], out: Path, err: Path) -> Watch:
    """A watch that the kernel tells of growth, and that has taken in what is there."""
    out.touch()
    err.touch()
    watch = make(
        spec(exception("QUOTA", log(QUOTA)), exception("SILENT", SilenceDetection(timeout=60, span=SPAN))),
        tail="auto",
    )
    if watch.fileno() is None:
        pytest.skip("the kernel has no inotify instance left for this user")
    assert watch.poll(1000.0) == []
    return watch


def test_output_that_means_nothing_is_skimmed(watched: Watch, out: Path) -> None:
    for number in range(50):
        append(out, f"cycle {number}: well\nunfinished")
        assert watched.skim(1000.0 + number)
    files = {Path(kept["path"]).name: kept for kept in watched.snapshot()["files"]}
    assert files["job.out"]["offset"] == out.stat().st_size - len("unfinished")
    # It is output all the same: silence counts from the last of it, at 1049.
    found = [(second, name) for second in range(1050, 1120) for name in names(watched.poll(float(second)))]
    assert found == [(1109, "SILENT")]


def test_what_matters_is_left_to_the_poll_whole_and_once(watched: Watch, out: Path) -> None:
    append(out, "well\nDisk Qu")
    assert watched.skim(1001.0)
    append(out, "ota Expired\nwell\n")
    assert not watched.skim(1002.0)
    (found,) = watched.poll(1002.0)
    assert (found.evidence[0].line, found.evidence[0].offset) == ("Disk Quota Expired", 5)
    append(out, "well again\n")
    assert watched.skim(1003.0)
    assert watched.drain(1003.0) == []


def test_a_rotated_a_shortened_and_a_large_log_are_left_to_the_poll(watched: Watch, out: Path) -> None:
    append(out, "well\n" * 10)
    assert watched.skim(1001.0)
    out.write_text("Disk Quota Expired\n")
    assert not watched.skim(1002.0)
    assert names(watched.poll(1002.0)) == ["QUOTA"]
    out.rename(out.with_suffix(".1"))
    assert not watched.skim(1003.0)
    watched.poll(1003.0)
    append(out, "well\nDisk Quota Expired\n")
    found: list[Detected] = []
    for second in range(10):
        watched.skim(1004.0 + second)
        found += watched.poll(1004.0 + second)
    assert names(found) == ["QUOTA"]
    append(out, "well enough\n" * (SKIM_SIZE // 12 + 1) + "Disk Quota Expired\n")
    assert not watched.skim(1020.0)
    assert names(watched.poll(1020.0)) == ["QUOTA"]


def test_signs_of_life_are_skimmed_and_the_last_one_is_the_evidence(
    make: Callable[..., Watch], out: Path, err: Path
) -> None:
    out.touch()
    err.touch()
    hang = HangDetection(pattern=CYCLE, source=STDOUT, timeout=60, warmup=0, span=SPAN)
    progress = ProgressDetection(
        pattern=Pattern(text=r"step (?P<n>\d+)", regex=True, captures=("n",)),
        source=STDOUT,
        capture="n",
        timeout=1000,
        span=SPAN,
    )
    watch = make(spec(exception("HANG", hang), exception("STUCK", progress)), tail="auto")
    if watch.fileno() is None:
        pytest.skip("the kernel has no inotify instance left for this user")
    watch.poll(1000.0)
    for number in range(50):
        append(out, f"cycle = {number}0\ncycle = {number}1\nwell\ncyc")
        assert watch.skim(1000.0 + number)
        append(out, "le was that\n")
        assert watch.skim(1000.0 + number)
    # What every line counts of is none of it.
    append(out, "step 7\n")
    assert not watch.skim(1049.0)
    found = [item for second in range(1049, 1120) for item in watch.poll(float(second))]
    assert [(item.exception, item.evidence[0].time) for item in found] == [("HANG", 1109.0)]
    assert (found[0].evidence[0].line, found[0].evidence[0].captures) == ("cycle = 491", {"n": "491"})


@pytest.mark.parametrize("tail", ["auto", "poll"])
def test_of_many_signs_of_life_only_the_last_are_judged(
    make: Callable[..., Watch], out: Path, tail: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    hang = HangDetection(pattern=CYCLE, source=STDOUT, timeout=60, warmup=0, span=SPAN)
    out.touch()
    watch = make(spec(exception("HANG", hang), exception("QUOTA", log(QUOTA))), tail=tail)
    judged = []
    matched = watch.detectors.matched

    def counted(*arguments: Any) -> list[Detected]:
        judged.append(arguments[2])
        return matched(*arguments)

    monkeypatch.setattr(watch.detectors, "matched", counted)
    append(out, "".join(f"cycle = {number}\n" for number in range(100_000)))
    found = watch.drain(1000.0)
    append(out, "Disk Quota Expired\ncycle = 100000\n")
    found += watch.drain(1001.0)
    assert names(found) == ["QUOTA"]
    lines = [match.line for match in judged]
    assert len(lines) < 20
    assert lines[-3:] == [b"cycle = 99999", b"Disk Quota Expired", b"cycle = 100000"]
