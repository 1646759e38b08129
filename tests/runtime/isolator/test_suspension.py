"""A job that its resource manager suspends, on a virtual clock: no hang and no lost node comes of that."""

from __future__ import annotations

from typing import Any

import pytest

from tests.runtime.detect.test_detectors import A, Bench, hang
from whesl.managers.resource.port import Suspended
from whesl.model.evidence import Detected
from whesl.runtime.isolator.nodes.job_suspension import ANSWER_LIMIT, HeldSilence, Suspension
from whesl.runtime.isolator.nodes.liveness import Silence
from whesl.runtime.isolator.observe.held_hangs import LAUNCHING, RESUMING, HeldHangs

TIMEOUT = 20.0
LIMIT = 1.0


class Asked(Suspension):
    """Answers after ``delay`` seconds of the virtual clock what is so then; None: could not be observed."""

    def __init__(self, delay: float = 0.0) -> None:
        self.delay = delay
        self.truth: Suspended | None = Suspended()
        self.present, self.seconds, self.asked = False, 0.0, 0.0
        self.questions: list[float] = []

    @property
    def knowable(self) -> bool:
        return True

    def ask(self, now: float) -> None:
        if not self.questions:
            self.questions.append(now)

    def poll(self, now: float) -> None:
        if self.questions and now >= self.questions[0] + self.delay:
            asked = self.questions.pop()
            if self.truth is not None:
                self.present, self.seconds, self.asked = self.truth.present, self.truth.seconds, asked


class Run:
    """A program, its hang timer, and what is raised."""

    def __init__(self, delay: float = 0.1) -> None:
        self.bench = Bench(hang(TIMEOUT))
        self.asked = Asked(delay)
        self.raised: list[Detected] = []
        observer: Any = self
        self.held = HeldHangs(self.asked, observer, lambda _: None)

    def suspended(self, seconds: float, found: list[Detected], launching: float) -> None:
        """Play the observer."""
        exceptions = {item.exception for item in found}
        self.bench.detectors.suspended(seconds, exceptions, self.bench.now, launching)

    def passes(self, seconds: float, tick: float = 0.5) -> None:
        for _ in range(round(seconds / tick)):
            self.bench.now += tick
            now = self.bench.now
            self.asked.poll(now)
            found = list(self.bench.detectors.tick(now))
            self.raised += self.held.judge(found, 1, ended=False, now=now)

    def stops(self, seconds: float) -> None:
        """The isolator does not run."""
        self.bench.now += seconds
        self.held.stopped(seconds, self.bench.now)


def test_a_hang_that_is_found_after_the_job_was_resumed_does_not_count_its_suspension() -> None:
    """An isolator that runs while the ranks are stopped, since Slurm stops node after node."""
    run = Run()
    run.passes(TIMEOUT - 4)
    run.passes(10 - 6.5)  # suspended
    run.asked.truth = Suspended(False, 3.5)
    run.passes(3)
    assert not run.raised
    run.bench.line(A)
    run.passes(TIMEOUT - 1)
    assert not run.raised


def test_a_hang_is_still_found_in_a_job_that_was_suspended() -> None:
    run = Run()
    run.bench.line(A)
    run.passes(TIMEOUT - 4)
    run.asked.truth = Suspended(False, 3.5)
    run.passes(4 + 3.5 + RESUMING + 2)
    assert [found.exception for found in run.raised] == ["E0"]


@pytest.mark.parametrize(("begun", "most"), [(True, 8), (False, 18)])
def test_a_gang_scheduled_job_that_hangs_is_found(begun: bool, most: int) -> None:
    """Suspended for as long as it runs, and the isolator with it."""
    run = Run()
    if begun:
        run.bench.line(A)
    for slices in range(1, most):
        run.passes(10)
        run.asked.truth = Suspended(False, slices * 10.0)
        run.stops(10)
    assert run.raised


def test_a_stop_of_the_isolator_alone_is_not_taken_for_suspension_later() -> None:
    run = Run()
    run.stops(12)
    run.passes(TIMEOUT - 4)
    run.asked.truth = Suspended(False, 10.0)
    run.passes(11)
    assert not run.raised


def test_a_hang_is_raised_where_nobody_answers() -> None:
    run = Run()
    run.asked.truth = None
    run.passes(TIMEOUT + ANSWER_LIMIT + 1)
    assert run.raised


def test_no_hang_is_raised_while_the_job_is_suspended() -> None:
    run = Run()
    run.asked.truth = Suspended(True)
    run.passes(10 * TIMEOUT)
    assert not run.raised


def test_a_launcher_that_met_the_suspended_job_may_ask_again_before_its_program_hangs() -> None:
    """Slurm's srun waits for a minute then; seen in chaos with three suspensions of a task that started."""
    run = Run()
    for slices in range(1, 4):
        run.passes(2)
        run.asked.truth = Suspended(False, slices * 4.0)
        run.stops(4)
    run.passes(LAUNCHING)
    assert not run.raised
    run.bench.line(A)
    run.passes(TIMEOUT - 1)
    assert not run.raised
    run.passes(2 + ANSWER_LIMIT)
    assert run.raised, "the program has begun, and hangs"


def test_a_stop_of_the_isolator_alone_before_a_suspension_takes_nothing_from_it() -> None:
    """What was stopped before it is known that the job is suspended is over with that answer."""
    run = Run()
    run.bench.line(A)
    run.stops(12)
    run.asked.truth = Suspended(True)
    run.passes(1)
    run.passes(TIMEOUT - 4)  # of which the job was suspended for ten seconds, and the isolator was not
    run.asked.truth = Suspended(False, 10.0)
    run.passes(10)
    assert not run.raised


@pytest.mark.parametrize(
    ("delay", "truth", "lost_after"),
    [
        (0.1, Suspended(), LIMIT),
        (0.9, Suspended(), LIMIT / 2 + 0.9),
        (0.9, Suspended(True), None),
        (0.1, None, LIMIT + ANSWER_LIMIT),
        (99, Suspended(), LIMIT + ANSWER_LIMIT),
    ],
)
def test_a_silent_node_is_lost_when_the_job_is_known_to_run(
    delay: float, truth: Suspended | None, lost_after: float | None
) -> None:
    """Or when nobody has said so for long enough."""
    silence = Silence(["n2"], LIMIT)
    silence.heard("n2", 100.0)
    asked = Asked(delay)
    asked.truth = truth
    unjudged = HeldSilence(asked, LIMIT)
    lost = None
    for step in range(1, 1000):
        now = 100.0 + step / 100
        asked.poll(now)
        if asked.present:
            silence.began(now)
        unjudged.note(silence.doubted(now), now)
        listened = float("-inf") if unjudged.now(now) else now
        if silence.lost(now, step_over=False, listened=listened):
            lost = now - 100.0
            break
    assert lost == (None if lost_after is None else pytest.approx(lost_after, abs=0.03))
