"""Predicted failures and checkpoints before a recovery, on the virtual clock."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from tests.equipment.world import KilledError
from tests.runtime.isolator.conftest import (
    SPAN,
    World,
    detect,
    exception,
    found,
    hear,
    make_setup,
    node_exception,
    step,
)
from whesl.language.detections.external_and_counted import PredictedDetection
from whesl.language.spec import ExceptionSpec, Operation, Otherwise, RecoveryStep, ResourceKind
from whesl.model.evidence import Detected, Evidence, PredictedFailure
from whesl.model.outcomes import StepOutcome
from whesl.model.states import NodeState
from whesl.runtime.isolator.core.events_and_commands import (
    AskCheckpoint,
    KillAttempt,
    NodeSeen,
    RunStep,
    StartAttempt,
    TellLost,
    TellPrediction,
)
from whesl.runtime.isolator.core.state import Phase
from whesl.runtime.journal.records import isolator_records as records
from whesl.runtime.wire.messages import PredictFailure

Make = Callable[..., World]
NODES = ("n1", "n2", "n3", "n4")
CHECKPOINT = step(ResourceKind.JOB, Operation.CHECKPOINT, timeout=60.0)
BEFORE = RecoveryStep(
    entity=CHECKPOINT.entity,
    resource=ResourceKind.NODE,
    operation=Operation.REPLACE,
    before_failure=True,
    span=SPAN,
)


def dying(*steps: RecoveryStep, **changes: Any) -> ExceptionSpec:
    more = {name: changes.pop(name) for name in ("node", "within", "confidence") if name in changes}
    detection = PredictedDetection(span=SPAN, **more)
    return exception("DYING", detections=(detection,), steps=steps or (BEFORE,), **changes)


def predict(world: World, node: str = "n2", identity: str = "p1", **more: Any) -> World:
    values = {"time": 0.0, "lead": 30.0, "evidence": "EDAC", **more}
    return hear(
        world, PredictFailure(id=identity, task="wf/app", prediction=PredictedFailure(node=node, **values))
    )


def raised(world: World) -> list[str]:
    return [data["raised"]["exception"] for kind, data, _ in world.records if kind == "raised"]


def swaps(world: World) -> World:
    """Have steps put a spare in the suspect's place."""

    def result(run: RunStep) -> records.StepDone:
        assert world.state.recovery is not None
        suspect = world.state.recovery.steps[run.index].suspect
        nodes = world.state.nodes.replace(suspect) if suspect else None
        return records.StepDone(
            ordinal=run.ordinal, index=run.index, outcome=StepOutcome.CONTINUE, nodes=nodes
        )

    world.step_result = result
    return world


@pytest.fixture
def four(world: Make) -> Make:
    def make(*exceptions: ExceptionSpec, **changes: Any) -> World:
        return swaps(world(*exceptions, nodes=NODES, active=2, **changes))

    return make


def test_it_is_written_down_once_and_told_to_the_program(four: Make) -> None:
    made = four(exception())
    for _ in range(3):
        predict(made)
    made.restart()
    predict(made)
    assert made.kinds().count("control") == 1
    (told,) = made.asked(TellPrediction)
    assert (told.prediction.node, told.prediction.lead, told.prediction.time) == ("n2", 30.0, made.now)
    assert raised(made) == [] and made.state.phase is Phase.RUNNING


@pytest.mark.parametrize(
    ("detection", "prediction", "raises"),
    [
        ({}, {}, True),
        ({"within": 30.0}, {}, True),
        ({"within": 29.0}, {}, False),
        ({"confidence": 0.8}, {"confidence": 0.8}, True),
        ({"confidence": 0.8}, {"confidence": 0.7}, False),
        ({"node": "n*"}, {}, True),
        ({"node": "m*"}, {}, False),
        ({}, {"node": "n4"}, False),  # a spare: nothing of the task is there
        ({}, {"lead": -1.0}, False),
    ],
)
def test_which_predictions_raise(
    four: Make, detection: dict[str, Any], prediction: dict[str, Any], raises: bool
) -> None:
    made = predict(four(dying(**detection)), **prediction)
    assert raised(made) == (["DYING"] if raises else [])


def test_the_node_is_replaced_after_a_whole_checkpoint(four: Make) -> None:
    made = predict(four(dying()))
    (asked,) = made.asked(AskCheckpoint)
    assert asked.prediction is not None and asked.prediction.node == "n2"
    kinds = [
        type(command)
        for command in made.commands
        if isinstance(command, (AskCheckpoint, KillAttempt, RunStep))
    ]
    assert kinds == [AskCheckpoint, KillAttempt, RunStep]
    step = made.last("decided")["steps"][0]
    assert (step["operation"], step["suspect"]) == ("REPLACE", "n2")
    assert made.last("checkpoint-ended")["checkpoint"] == "checkpoint 1"
    assert made.state.attempt == 2 and made.state.phase is Phase.RUNNING


def test_how_long_a_move_to_a_spare_took_is_measured(four: Make) -> None:
    """From the request for the checkpoint to the next start; also by an isolator that is started anew."""
    made = four(dying())

    def slowly(ask: AskCheckpoint) -> records.CheckpointEnded:
        made.now += 4.0
        return records.CheckpointEnded(ordinal=ask.ordinal, seconds=4.0, checkpoint="checkpoint 1")

    made.checkpoint_result = slowly
    assert made.state.theta == 0.0
    predict(made)
    assert made.state.attempt == 2 and made.state.theta >= 4.0
    made.restart()
    assert made.state.theta >= 4.0 and made.state.moving is None
    # The coordinator of checkpoints is told: of none before, of what it took, and of no spare that is left.
    predict(made, "n3", "p2")
    predict(made, "n4", "p3")
    assert [asked.move for asked in made.asked(AskCheckpoint)] == [0.0, made.state.theta, None]


@pytest.mark.parametrize("kinds", [(BEFORE,), (CHECKPOINT, BEFORE)])
def test_without_a_whole_checkpoint_nothing_is_touched(four: Make, kinds: tuple[RecoveryStep, ...]) -> None:
    made = four(dying(*kinds))
    made.checkpoint_result = lambda ask: records.CheckpointEnded(
        ordinal=ask.ordinal, seconds=1.0, why="the disk is full"
    )
    predict(made)
    assert not made.asked(KillAttempt) and made.state.attempt == 1 and made.state.phase is Phase.RUNNING
    assert made.last("checkpoint-ended")["why"] == "the disk is full"


def test_a_checkpoint_alone_leaves_the_program_running(four: Make) -> None:
    made = predict(four(dying(CHECKPOINT)))
    assert made.asked(AskCheckpoint)[0].arguments["timeout"] == 60.0
    assert not made.asked(KillAttempt) and made.state.attempt == 1


def test_checkpoints_alone_are_limited_as_well(four: Make) -> None:
    made = four(dying(CHECKPOINT, limit=2))
    for number in range(4):
        predict(made, identity=f"p{number}")
    assert len(made.asked(AskCheckpoint)) == 2 and made.kinds().count("dropped") == 2
    made.restart()
    predict(made, identity="p9")
    assert len(made.asked(AskCheckpoint)) == 2 and made.finished is None


def test_a_plain_replacement_comes_after_the_checkpoint_whatever_became_of_it(four: Make) -> None:
    made = four(dying(CHECKPOINT, step(ResourceKind.NODE)))
    made.checkpoint_result = lambda ask: records.CheckpointEnded(
        ordinal=ask.ordinal, seconds=1.0, why="no client"
    )
    predict(made)
    assert [each["operation"] for each in made.last("decided")["steps"]] == ["REPLACE"]
    assert made.state.attempt == 2


@pytest.mark.parametrize("why", ["no spare", "budget"])
def test_what_cannot_be_replaced_goes_on_with_its_checkpoint(world: Make, why: str) -> None:
    nodes = NODES[:2] if why == "no spare" else NODES
    made = world(dying(limit=1, otherwise=Otherwise.FAIL), nodes=nodes, active=2)
    if why == "budget":
        predict(made, identity="p0")
        assert made.state.attempt == 2
    before = made.state.attempt
    predict(made)
    assert made.state.attempt == before and made.finished is None
    stays = made.last("checkpoint-ended")["stays"]
    assert stays == ("no spare is left" if why == "no spare" else "budget-spent: 1 recovery")


def lost(world: World, node: str = "n2") -> World:
    evidence = Evidence(kind="node", time=world.now, node=node, detail=f"{node} is lost")
    word = Detected(exception="NODEDOWN", evidence=(evidence,))
    return world.feed(NodeSeen(node=node, state=NodeState.DOWN, reason="dead", source="rjms", found=(word,)))


def done(world: World, **result: Any) -> World:
    ordinal = world.asked(AskCheckpoint)[-1].ordinal
    return world.feed(records.CheckpointEnded(ordinal=ordinal, seconds=2.0, **result))


@pytest.mark.parametrize("whole", [True, False])
def test_the_loss_of_the_node_waits_for_its_checkpoint(four: Make, whole: bool) -> None:
    made = four(dying(), node_exception())
    made.hold = (AskCheckpoint,)
    predict(made)
    lost(made)
    assert [told.node for told in made.asked(TellLost)] == ["n2"] and not made.asked(KillAttempt)
    done(made, checkpoint="checkpoint 1") if whole else done(made, why="n2 was lost before")
    assert made.state.attempt == 2 and made.state.phase is Phase.RUNNING
    assert raised(made) == (["DYING"] if whole else ["DYING", "NODEDOWN"])
    assert made.state.nodes.active == ("n1", "n3")


@pytest.mark.parametrize("words", [(), (found("CRASH"),)], ids=["no rule", "a rule for the exit"])
@pytest.mark.parametrize("restarted", [False, True])
def test_a_program_that_ends_of_the_loss_is_recovered_before_its_checkpoint_was_heard_of(
    four: Make, restarted: bool, words: tuple[Detected, ...]
) -> None:
    """A launcher ends of the node failure (flux run: 143); the task did, too, as the loss still waited."""
    made = four(dying(CHECKPOINT), node_exception(), exception("CRASH"))
    made.hold = (AskCheckpoint,)
    lost(predict(made))
    if restarted:
        made.restart()
    made.exits(143, *words)
    assert made.finished is None and raised(made) == ["DYING", "NODEDOWN"]
    assert made.state.attempt == 2 and made.state.nodes.active == ("n1", "n3") and not made.state.queued
    assert made.last("checkpoint-ended")["why"] == "the program has ended"


def test_a_program_that_ends_well_in_spite_of_the_loss_is_done(four: Make) -> None:
    made = four(dying(), node_exception())
    made.hold = (AskCheckpoint,)
    lost(predict(made)).exits(0)
    assert made.finished is not None and made.finished.code == 0 and raised(made) == ["DYING"]


@pytest.mark.parametrize("when", ["in the step", "at the start", "it runs"])
def test_a_spare_that_dies_at_once_is_replaced_by_the_next(four: Make, when: str) -> None:
    made = four(dying(), node_exception())
    if when == "in the step":
        made.hold = (RunStep,)
        predict(made)
        lost(made, "n3")
        made.hold = ()
        made.restart()
    else:
        made.hold = (StartAttempt,) if when == "at the start" else ()
        predict(made)
        lost(made, "n3")
        if made.hold:
            made.hold = ()
            made.restart()
    assert made.state.nodes.active == ("n1", "n4") and made.state.phase is Phase.RUNNING
    assert made.running == made.state.attempt and made.finished is None
    assert raised(made) == (["DYING"] if when == "in the step" else ["DYING", "NODEDOWN"])


def test_another_nodes_loss_does_not_wait(four: Make) -> None:
    made = four(dying(), node_exception())
    made.hold = (AskCheckpoint,)
    predict(made)
    lost(made, "n1")
    assert raised(made) == ["DYING", "NODEDOWN"] and made.state.attempt == 2
    assert "NODEDOWN" in made.last("checkpoint-ended")["why"]
    done(made, checkpoint="checkpoint 1")  # of an attempt that has ended: nothing comes of it
    assert made.state.attempt == 2


def test_two_predictions_at_once_replace_both_nodes_before_one_start(four: Make) -> None:
    made = four(dying())
    made.hold = (AskCheckpoint,)
    predict(made, "n1", "p1")
    predict(made, "n2", "p2")
    first, second = made.asked(AskCheckpoint)
    predict(made, "n2", "p3")  # the same trouble again
    assert raised(made) == ["DYING", "DYING"] and made.kinds().count("dropped") == 1
    for asked in (first, second):
        made.feed(records.CheckpointEnded(ordinal=asked.ordinal, seconds=1.0, checkpoint="checkpoint 1"))
    suspects = [data["steps"][0]["suspect"] for kind, data, _ in made.records if kind == "decided"]
    assert suspects == ["n1", "n2"] and made.state.nodes.active == ("n3", "n4")
    assert [start.attempt for start in made.asked(StartAttempt)] == [1, 2]


def test_the_end_of_the_program_ends_the_wait(four: Make) -> None:
    made = four(dying(), node_exception())
    made.hold = (AskCheckpoint,)
    predict(made)
    made.exits(0)
    assert made.finished is not None and made.finished.code == 0
    assert made.last("checkpoint-ended")["why"] == "the program has ended"


def test_a_checkpoint_of_which_nothing_is_heard_is_not_waited_for(four: Make) -> None:
    made = four(dying(CHECKPOINT, BEFORE))
    made.hold = (AskCheckpoint,)
    predict(made)
    made.advance(71.0)
    assert made.last("checkpoint-ended")["why"] == "nothing was heard of it" and made.state.attempt == 1


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("at", range(1, 12))
def test_killed_at_any_record_the_node_is_replaced_once(at: int, late: bool) -> None:
    made = World(make_setup(dying(), nodes=NODES, active=2)).start()
    made.crash_at, made.crash_late = len(made.records) + at, late
    try:
        predict(made)
    except KilledError:
        made.crash_at = None
        made.restart()
        predict(made)
    assert raised(made) == ["DYING"] and made.kinds().count("decided") == 1
    assert made.state.attempt == 2 and made.state.phase is Phase.RUNNING


def test_it_is_only_observed(four: Make) -> None:
    made = predict(four(dying(), observe=True))
    assert not made.asked(AskCheckpoint) and not made.asked(TellPrediction)
    assert made.last("observed")["exception"] == "DYING"


def test_during_another_recovery_it_waits_and_needs_no_checkpoint(four: Make) -> None:
    made = four(exception(), dying())
    made.hold = (RunStep,)
    detect(made, "CRASH")
    predict(made)
    made.hold = ()
    made.restart()
    assert raised(made) == ["CRASH", "DYING"] and not made.asked(AskCheckpoint)
    assert made.state.attempt == 2


@pytest.mark.parametrize("why", ["no spare", "the spare is silent", "budget"])
def test_during_another_recovery_nothing_is_done_where_the_node_cannot_be_replaced(
    world: Make, why: str
) -> None:
    """The task failed, healthy, for a prediction that need not have come true."""
    rules = exception(limit=5), dying(limit=1, otherwise=Otherwise.FAIL)
    nodes = {"no spare": NODES[:2], "the spare is silent": NODES[:3], "budget": NODES}[why]
    made = swaps(world(*rules, nodes=nodes, active=2))
    if why == "budget":
        predict(made, identity="p0")
    if why == "the spare is silent":
        made.feed(NodeSeen(node="n3", state=NodeState.DOWN, reason="silent", source="agent"))
    before = made.state.attempt
    made.hold = (RunStep,)
    detect(made, "CRASH")
    predict(made, made.state.nodes.active[1])
    made.hold = ()
    made.restart()
    assert made.finished is None and made.state.phase is Phase.RUNNING
    assert made.state.attempt == before + 1 and made.state.queued == ()
    assert raised(made)[-1] == "CRASH"


def test_who_does_not_use_it_loads_nothing_of_it() -> None:
    code = "import sys, whesl.runtime.isolator.daemon"
    code += "; print([m for m in sys.modules if m.startswith('whesl.checkpoints')])"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"
