"""``LIMIT n WITHOUT PROGRESS``: a run that gets further between its crashes goes on, one that does not ends.

A training run of two days was once ended at its fourth crash, hours of new steps after the third; and a
missing module was imported four times.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.runtime.isolator.bench import Bench, bench
from tests.runtime.isolator.conftest import World, detect, exception, found
from whesl.checkpoints import manifest
from whesl.model.evidence import Advice, Cause, CauseClass, Raised
from whesl.model.recovery_criterion import Furthest, Reach
from whesl.runtime.isolator.core.events_and_commands import AttemptExited, Reached
from whesl.runtime.operations.recovery_limits import course

__all__ = ["bench"]

Make = Callable[..., World]
MISSING = "ModuleNotFoundError: No module named 'torchvision'"


def cause(text: str = MISSING, advice: Advice = Advice.NONE, sure: float = 0.84) -> Cause:
    return Cause(
        cause=CauseClass.DEPENDENCY, sentence="It is not installed.", advice=advice, sure=sure, text=text
    )


# What is further ------------------------------------------------------------------------------------------

REACHES = st.builds(
    Reach,
    seconds=st.floats(0, 1e6),
    output=st.integers(-1, 10**12),
    progress=st.none() | st.floats(-1e9, 1e9),
    steps=st.lists(
        st.tuples(st.sampled_from(["step", "epoch"]), st.integers(0, 10**6)),
        max_size=2,
        unique_by=lambda one: one[0],
    ).map(tuple),
    checkpoint=st.integers(0, 9),
)


@given(st.lists(REACHES, min_size=1, max_size=8), st.randoms())
def test_what_was_reached_before_is_never_further(reaches: list[Reach], random: object) -> None:
    furthest = Furthest()
    for reach in reaches:
        furthest = furthest.taking(reach)
    assert not any(furthest.passed_by(reach) for reach in reaches)


@pytest.mark.parametrize(
    ("before", "now", "further"),
    [
        (Reach(seconds=100.0, steps=(("step", 500),)), Reach(seconds=100.0, steps=(("step", 501),)), True),
        (Reach(seconds=100.0, steps=(("step", 500),)), Reach(seconds=9e9, steps=(("step", 500),)), False),
        # Nested counters: the inner one begins again in each turn of the outer one.
        (Reach(steps=(("epoch", 1), ("step", 3))), Reach(steps=(("epoch", 2), ("step", 1))), True),
        (Reach(steps=(("epoch", 2), ("step", 1))), Reach(steps=(("epoch", 2), ("step", 1))), False),
        (Reach(steps=(("epoch", 2), ("step", 1))), Reach(steps=(("epoch", 1), ("step", 9))), False),
        (Reach(steps=(("epoch", 1), ("step", 3))), Reach(steps=(("epoch", 2),)), True),
        (Reach(seconds=100.0, progress=5.0), Reach(seconds=9e9, progress=5.0, steps=(("step", 9),)), False),
        (Reach(seconds=100.0, progress=5.0), Reach(seconds=1.0, progress=6.0), True),
        (Reach(seconds=100.0), Reach(seconds=1.0, progress=1.0), True),
        (Reach(seconds=100.0, progress=5.0), Reach(seconds=9e9), False),
        (Reach(seconds=100.0, progress=5.0), Reach(seconds=1.0, progress=1.0, checkpoint=1), True),
        (Reach(seconds=100.0), Reach(seconds=134.0), False),
        (Reach(seconds=100.0), Reach(seconds=136.0), True),
    ],
)
def test_what_is_further(before: Reach, now: Reach, further: bool) -> None:
    assert Furthest().taking(before).passed_by(now) == further


def raised(ordinal: int, step: int, died: Cause | None = None) -> Raised:
    reach = Reach(seconds=1.0, steps=(("step", step),))
    return Raised(
        exception="E",
        task="w/a",
        attempt=ordinal,
        ordinal=ordinal,
        time=0.0,
        evidence=(),
        reached=reach,
        cause=died,
    )


@pytest.mark.parametrize(
    ("one", "two", "again"),
    [
        (raised(1, 5, cause()), raised(2, 5, cause()), True),
        (
            raised(1, 5, cause("KeyError: 'a7' 0x7f")),
            raised(2, 5, cause("KeyError: 'a8' 0x8e")),
            True,
        ),
        (raised(1, 5, cause()), raised(2, 6, cause()), False),
        (raised(1, 5, cause()), raised(2, 5, cause("KeyError: 'loss'")), False),
        (raised(1, 5, cause(advice=Advice.SAME_NODES)), raised(2, 5, cause(advice=Advice.SAME_NODES)), False),
        (raised(1, 5, cause(sure=0.4)), raised(2, 5, cause(sure=0.4)), False),
        (raised(1, 5), raised(2, 5, cause()), False),
        (raised(1, 5, cause()), raised(2, 5), False),
    ],
)
def test_which_errors_no_restart_mends(one: Raised, two: Raised, again: bool) -> None:
    assert bool(course((one, two)).again) == again


# The core -------------------------------------------------------------------------------------------------


def crash_at(made: World, step: int) -> World:
    made.feed(Reached(reach=Reach(output=100, steps=(("step", step),))))
    return detect(made, "CRASH").advance(1)


def test_a_run_that_gets_further_is_never_at_its_limit(world: Make) -> None:
    made = world(exception(limit=2, without_progress=True))
    for step in range(100, 2000, 100):
        crash_at(made, step)
        assert made.finished is None, step
    crash_at(crash_at(made, 1900), 1800)
    assert made.finished is not None
    assert "budget-spent: 2 recoveries without progress: the task has not got further than step 1900" in str(
        made.last("finished")["reason"]
    )


def test_without_the_words_all_recoveries_count(world: Make) -> None:
    made = world(exception(limit=2))
    for step in (100, 200, 300):
        crash_at(made, step)
    assert made.finished is not None


def test_the_wait_begins_anew_where_the_task_has_got_further(world: Make) -> None:
    made = world(exception(limit=5, without_progress=True, backoff=4.0))
    for step, backoff in ((100, 4.0), (100, 8.0), (90, 16.0), (101, 4.0)):
        made.feed(Reached(reach=Reach(output=100, steps=(("step", step),))))
        detect(made, "CRASH")
        assert made.last("decided")["backoff"] == backoff
        made.advance(backoff)


def test_exceptions_of_other_names_tell_how_far_the_task_is(world: Make) -> None:
    made = world(exception(limit=1, without_progress=True), exception("OTHER", limit=9))
    crash_at(made, 100)
    made.feed(Reached(reach=Reach(output=100, steps=(("step", 200),))))
    detect(made, "OTHER").advance(1)
    crash_at(made, 200)
    assert made.finished is None, "it has come further since the last recovery from CRASH"
    crash_at(made, 200)
    assert made.finished is not None


def test_a_restarted_isolator_counts_alike(world: Make) -> None:
    made = world(exception(limit=2, without_progress=True))
    for step in (100, 200, 200):
        crash_at(made, step).restart()
    assert made.finished is None
    assert crash_at(made, 200).finished is not None


def test_an_error_that_no_restart_mends_is_tried_once_more(world: Make) -> None:
    made = world(exception(limit=5, without_progress=True))
    for attempt in (1, 2):
        assert made.finished is None
        made.running = None
        made.feed(
            AttemptExited(attempt=attempt, code=1, found=(found("CRASH", "exit"),), cause=cause())
        ).advance(1)
    assert made.finished is not None
    assert f"no restart mends what came again at the same place: {MISSING}" in made.last("finished")["reason"]


# With real processes --------------------------------------------------------------------------------------

RULES = """\
DECLARE EXCEPTION CRASH JOB_LEVEL JOB [*] LIMIT 2 WITHOUT PROGRESS
EXCEPTION DETECTION CRASH EXIT ANY
EXCEPTION RECOVERY STEP CRASH JOB JOB.REPLACE
"""
STEADY = """\
done=$(cat reached 2>/dev/null || echo 0)
for step in 1 2 3; do done=$((done + 1)); echo "step $done"; done
echo $done > reached
[ $done -lt 15 ] || exit 0
kill -9 $$
"""
NAN = """\
for step in 1 2 3; do echo "step $step loss $((9 - step))"; done
echo "step 4: loss went up"
kill -9 $$
"""


@pytest.mark.costly
def test_a_steady_run_completes_after_more_crashes_than_its_limit(bench: Bench) -> None:
    assert bench.run(*bench.script(STEADY), options=("-e", bench.rules(RULES)))[0] == 0
    assert bench.kinds().count("relaunched") == 4


@pytest.mark.costly
def test_one_that_fails_at_the_same_step_ends_at_its_limit(bench: Bench) -> None:
    assert bench.run(*bench.script(NAN), options=("-e", bench.rules(RULES)))[0] != 0
    assert bench.kinds().count("relaunched") == 2
    assert "without progress: the task has not got further than step 4" in bench.records()[-1][1]["reason"]


@pytest.mark.costly
def test_a_missing_module_is_imported_twice(bench: Bench) -> None:
    """All four times, until the cause was looked into."""
    command = (sys.executable, "-c", "import a_module_that_nobody_has")
    rules = bench.rules(RULES.replace("LIMIT 2", "LIMIT 3"))
    assert bench.run(*command, options=("-e", rules))[0] == 1
    assert bench.kinds().count("relaunched") == 1
    assert "ModuleNotFoundError" in bench.records()[-1][1]["reason"]


def test_the_newest_whole_checkpoint_counts(tmp_path: Path) -> None:
    assert manifest.newest(tmp_path) == 0
    for number, whole in ((2, True), (10, True), (11, False)):
        (tmp_path / str(number)).mkdir()
        if whole:
            (tmp_path / str(number) / manifest.NAME).touch()
    assert manifest.newest(tmp_path) == 10


def test_reaches_travel_as_records() -> None:
    one = raised(1, 5, cause())
    assert msgspec.json.decode(msgspec.json.encode(one), type=Raised) == one
