"""Exceptions that are raised from outside, on the virtual clock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.equipment.world import KilledError
from tests.runtime.isolator.conftest import (
    World,
    count_detection,
    detect,
    exception,
    hear,
    make_setup,
    node_exception,
    welcome,
)
from whesl.language.spec import Otherwise
from whesl.model.evidence import PredictedFailure
from whesl.model.outcomes import ControlAction
from whesl.model.states import TaskState
from whesl.runtime.isolator.core.events_and_commands import RunStep, Send, StartAttempt
from whesl.runtime.isolator.core.state import Phase
from whesl.runtime.journal.records import isolator_records as records
from whesl.runtime.wire.messages import Control, PredictFailure, RaiseException, Register, Report

Make = Callable[..., World]


def raise_(world: World, name: str = "CRASH", identity: str = "r1", **more: str) -> World:
    return hear(world, RaiseException(id=identity, exception=name, task="wf/app", **more))


def raised(world: World) -> list[str]:
    return [data["raised"]["exception"] for kind, data, _ in world.records if kind == "raised"]


def test_it_is_recovered_as_a_detected_one_is(world: Make) -> None:
    made = raise_(world(exception()), evidence="DIMM 3 has errors")
    assert raised(made) == ["CRASH"]
    evidence = made.last("raised")["raised"]["evidence"]
    assert [(item["kind"], item["detail"]) for item in evidence] == [
        ("external", "raised from outside: DIMM 3 has errors")
    ]
    assert made.state.attempt == 2 and made.state.phase is Phase.RUNNING
    assert made.asked(RunStep)


def test_told_again_it_is_one(world: Make) -> None:
    made = world(exception())
    for _ in range(3):
        raise_(made)
    made.restart()
    raise_(made)
    assert raised(made) == ["CRASH"]
    raise_(made, identity="r2")
    assert raised(made) == ["CRASH", "CRASH"]


@pytest.mark.parametrize(
    "message",
    [
        RaiseException(id="r1", exception="CRASH", task="wf/app"),
        Control(id="r1", task="wf/app", action=ControlAction.PAUSE),
        PredictFailure(id="r1", task="wf/app", prediction=PredictedFailure(node="n1", time=0.0, lead=9.0)),
    ],
)
def test_killed_before_it_could_report_it_reports_when_it_is_told_again(message: Any) -> None:
    """Otherwise the coordinator told it to the job's next run, which knows nothing of it: raised twice."""
    made = World(make_setup(exception(), coordinator=True)).start()
    welcome(made)
    made.crash_at = len(made.records) + 1
    with pytest.raises(KilledError):
        hear(made, message)
    made.crash_at = None
    made.restart()
    assert "control" not in _reported(made)
    hear(made, message)
    hear(made, message)
    assert _reported(made).count("control") == 2
    assert made.kinds().count("control") == 1


def _reported(world: World) -> list[str]:
    sent = [command.message for command in world.asked(Send)]
    return [message.record.kind for message in sent if isinstance(message, Report)]


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("at", range(1, 9))
def test_killed_at_any_record_it_is_raised_once(at: int, late: bool) -> None:
    made = World(make_setup(exception())).start()
    made.crash_at, made.crash_late = len(made.records) + at, late
    try:
        raise_(made)
    except KilledError:
        made.crash_at = None
        made.restart()
        # Who has no answer tells it again.
        raise_(made)
    assert raised(made) == ["CRASH"]
    assert made.state.attempt == 2 and made.running == 2


def test_budget_and_transformation_count_it_with_detected_ones(world: Make) -> None:
    higher = exception(
        "HIGHER", detections=(count_detection("CRASH", 2),), otherwise=Otherwise.PAUSE, limit=1
    )
    made = world(exception(limit=5), higher)
    detect(made, "CRASH")
    raise_(made)
    assert raised(made) == ["CRASH", "HIGHER"]
    assert made.last("raised")["raised"]["transformed_from"] == ["CRASH"]
    raise_(made, "HIGHER", "r2")
    assert made.state.phase is Phase.PAUSED and "budget-spent" in made.state.paused


def test_what_the_rules_do_not_have_changes_nothing(world: Make) -> None:
    made = raise_(world(exception()), "OTHER")
    assert raised(made) == [] and made.state.phase is Phase.RUNNING


def test_during_another_recovery_it_waits_and_the_same_one_is_its_own_cause(world: Make) -> None:
    made = world(exception(), exception("PREDICTED", otherwise=Otherwise.PAUSE, limit=1), exception("SAME"))
    made.hold = (RunStep,)
    detect(made, "SAME")
    assert made.state.phase is Phase.STEPS
    raise_(made, "PREDICTED", "r1")
    raise_(made, "SAME", "r2")
    assert raised(made) == ["SAME"] and made.kinds().count("dropped") == 1
    made.hold = ()
    made.restart()
    assert raised(made) == ["SAME", "PREDICTED"]
    assert made.state.phase.value == "running" and made.state.attempt == 2


def test_a_paused_task_takes_it_when_it_goes_on(world: Make) -> None:
    made = world(exception())
    hear(made, Control(task="wf/app", id="p", action=ControlAction.PAUSE))
    raise_(made)
    assert raised(made) == [] and made.state.phase is Phase.PAUSED
    hear(made, Control(task="wf/app", id="g", action=ControlAction.RESUME))
    assert raised(made) == ["CRASH"] and made.state.phase.value == "running"


def test_before_the_first_attempt_it_comes_before_it() -> None:
    made = World(make_setup(exception(), coordinator=True)).start()
    assert made.sent(Register)[0].exceptions == ("CRASH",)
    raise_(made)
    assert raised(made) == []
    welcome(made)
    assert raised(made) == ["CRASH"]
    assert made.asked(StartAttempt)[-1].attempt == made.state.attempt == 1


def test_a_node_that_is_named_is_the_suspect(world: Make) -> None:
    made = world(node_exception(), nodes=("n1", "n2", "n3"), active=2, own_node="n3", use_own_node=False)
    raise_(made, "NODEDOWN", node="n2")
    assert made.asked(RunStep) and made.last("decided")["steps"][0]["suspect"] == "n2"


def test_a_node_that_is_used_no_more_is_no_exception(world: Make) -> None:
    made = world(node_exception(), nodes=("n1", "n2"), active=1)
    spare = next(node for node in ("n1", "n2") if node not in made.state.nodes.active)
    raise_(made, "NODEDOWN", node=spare)
    assert raised(made) == [] and made.state.phase is Phase.RUNNING


def test_it_is_only_told_of_where_a_task_is_only_observed(world: Make) -> None:
    made = raise_(world(exception(), observe=True))
    assert raised(made) == ["CRASH"] and "observed" in made.kinds()
    assert made.state.attempt == 1 and made.running == 1


def test_a_task_that_is_ended_takes_none(world: Make) -> None:
    made = world(exception())
    made.hold = (type(made.asked(StartAttempt)[0]),)
    hear(made, Control(task="wf/app", id="c", action=ControlAction.CANCEL))
    raise_(made)
    assert raised(made) == [] and made.state.task_state is TaskState.CANCELLED


def test_a_program_that_was_not_seen_yet_is_started_anew(world: Make) -> None:
    made = World(make_setup(exception()))
    made.hold = (StartAttempt,)
    made.start()
    assert made.state.phase is Phase.LAUNCHING
    made.hold = ()
    raise_(made)
    assert raised(made) == ["CRASH"] and made.state.attempt == 2
    made.feed(records.Launched(attempt=1, pid=1, started=1))
    assert made.state.attempt == 2
