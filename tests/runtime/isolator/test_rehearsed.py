"""Rehearsal and reality: a log, an observed task and a run raise the same exceptions for the same lines."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.alike import examples
from tests.runtime.isolator.conftest import NOW, SPAN, World, exception, make_setup
from whesl.language.detections.exit import ExitDetection
from whesl.language.detections.external_and_counted import CountDetection
from whesl.language.detections.kinds import Detection
from whesl.language.detections.log import LogDetection, Require
from whesl.language.pattern_and_stream_records import Pattern, Source, Stream
from whesl.language.spec import ExceptionSpec
from whesl.runtime.detect.detection_on_old_logs import Rehearsal
from whesl.runtime.detect.task_watch import Watch
from whesl.runtime.isolator.core.events_and_commands import AttemptExited, Detections

STDOUT = Source(stream=Stream.STDOUT)
WORDS = ("red", "green", "blue", "red green", "green blue", "red green blue", "nothing", "")
PATTERNS = tuple(
    Pattern(text=text, regex=regex)
    for text, regex in (("red", False), ("green", False), ("blue", False), ("^red", True), ("blue$", True))
)
Raised = list[tuple[str, str]]  # the name and the line


def log(*patterns: Pattern, times: int = 1, require: Require = Require.ANY) -> LogDetection:
    return LogDetection(patterns=patterns, source=STDOUT, times=times, require=require, span=SPAN)


LOGS = st.builds(
    lambda patterns, times, require: log(*patterns, times=times, require=require),
    st.lists(st.sampled_from(PATTERNS), min_size=1, max_size=3, unique=True),
    st.integers(1, 3),
    st.sampled_from(Require),
)


@st.composite
def rules(draw: st.DrawFn, names: tuple[str, ...]) -> tuple[ExceptionSpec, ...]:
    made = [
        exception(name, detections=tuple(draw(st.lists(LOGS, min_size=1, max_size=3))), limit=1000)
        for name in names
    ]
    for number, times in enumerate(draw(st.lists(st.integers(1, 4), max_size=2))):
        of = draw(st.sampled_from((*names, *(f"MANY{i}" for i in range(number)))))
        count: Detection = CountDetection(exception=of, times=times, span=SPAN)
        made.append(exception(f"MANY{number}", detections=(count,), limit=1000))
    return tuple(made)


def rehearsed(specs: tuple[ExceptionSpec, ...], path: Path, status: int | None = None) -> Raised:
    """What ``whesl explain`` says of a log."""
    setup = make_setup(*specs)
    assert setup.spec is not None
    rehearsal = Rehearsal(setup.spec, setup.task)
    rehearsal.read({str(path): (STDOUT,)})
    if status is not None:
        rehearsal.ended(status)
    return [(item.exception, item.text) for item in rehearsal.result().occurrences]


def reality(
    specs: tuple[ExceptionSpec, ...], lines: list[str], path: Path, *, observe: bool, status: int = 0
) -> World:
    """A task whose program prints these lines; where an exception ends an attempt, the next one goes on."""
    path.write_text("")
    world = World(make_setup(*specs, observe=observe)).start()
    setup = world.setup
    assert setup.spec is not None
    watch = Watch(setup.spec, setup.task, {STDOUT: str(path)}, "n1", NOW, tail="poll")
    try:
        for number, line in enumerate(lines, 1):
            attempt = world.state.attempt
            with path.open("a") as file:
                file.write(f"{line}\n")
            found = watch.poll(NOW + number)
            world.feed(Detections(attempt=attempt, found=tuple(found)))
            world.advance(0)
            if world.state.attempt != attempt:
                watch.new_attempt(NOW + number)
        if status:
            seen = tuple(watch.detectors.exited(status, NOW + len(lines)))
            world.feed(AttemptExited(attempt=world.state.attempt, code=status, found=seen))
    finally:
        watch.close()
    return world


def raised(world: World) -> Raised:
    """What a run or an observed task has raised."""
    found = [data["raised"] for kind, data, _ in world.records if kind == "raised"]
    lines = [[item["line"] for item in each["evidence"] if item["kind"] == "log"] for each in found]
    return [(each["exception"], seen[-1]) for each, seen in zip(found, lines, strict=True)]


def firsts(raised: Raised) -> Raised:
    """The first time of each exception: of an observed task no more is told."""
    return [item for i, item in enumerate(raised) if item[0] not in {name for name, _ in raised[:i]}]


def pattern(text: str) -> Pattern:
    return Pattern(text=text)


LINES = st.lists(st.sampled_from(WORDS), max_size=14)
SLOW_FILES = settings(
    max_examples=examples(100), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def written(path: Path, lines: list[str]) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


@pytest.mark.costly
@given(specs=rules(("A",)), lines=LINES)
@SLOW_FILES
def test_a_rehearsal_and_a_run_raise_the_same(
    tmp_path: Path, specs: tuple[ExceptionSpec, ...], lines: list[str]
) -> None:
    """Whatever its patterns, windows and counts are: in a run the exception ends the attempt each time."""
    run = reality(specs, lines, tmp_path / "run.out", observe=False)
    assert rehearsed(specs, written(tmp_path / "job.out", lines)) == raised(run)


@pytest.mark.costly
@given(specs=rules(("A", "B", "C")), lines=LINES)
@SLOW_FILES
def test_a_rehearsal_and_an_observed_task_raise_the_same(
    tmp_path: Path, specs: tuple[ExceptionSpec, ...], lines: list[str]
) -> None:
    task = reality(specs, lines, tmp_path / "task.out", observe=True)
    assert firsts(rehearsed(specs, written(tmp_path / "job.out", lines))) == raised(task)


def test_a_line_with_two_patterns_of_one_exception_is_one_occurrence(tmp_path: Path) -> None:
    """A line of PyTorch is in two detections of the library's CUDA_OUT_OF_MEMORY."""
    memory = exception("MEMORY", detections=(log(pattern("CUDA error")), log(pattern("out of memory"))))
    bad = exception("BAD", detections=(CountDetection(exception="MEMORY", times=2, span=SPAN),))
    line = "RuntimeError: CUDA error: out of memory"
    path = tmp_path / "job.out"
    path.write_text(f"{line}\n")
    expected = [("MEMORY", line)]
    assert rehearsed((memory, bad), path) == expected
    for observe in (True, False):
        assert raised(reality((memory, bad), [line], tmp_path / "out", observe=observe)) == expected


def test_how_an_attempt_ends_is_its_line_s_exception_again(tmp_path: Path) -> None:
    """A run ends the attempt at the line, so that nobody judges its exit."""
    crash = exception("CRASH", detections=(log(pattern("crashed")), ExitDetection(span=SPAN)))
    bad = exception("BAD", detections=(CountDetection(exception="CRASH", times=2, span=SPAN),))
    path = tmp_path / "job.out"
    path.write_text("crashed\nbye\n")
    assert rehearsed((crash, bad), path, status=3) == [("CRASH", "crashed")]
    world = reality((crash, bad), ["crashed", "bye"], tmp_path / "out", observe=True, status=3)
    assert raised(world) == [("CRASH", "crashed")]
    path.write_text("bye\n")
    assert rehearsed((crash, bad), path, status=3) == [("CRASH", "exit status 3")]
