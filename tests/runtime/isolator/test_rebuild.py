"""An isolator that is killed after any record goes on where it was, and does nothing twice."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.alike import examples
from tests.equipment.world import KilledError
from tests.journals import rebuild_task
from tests.runtime.isolator.conftest import World, exception, found, make_setup, step
from whesl.language.spec import Level, Otherwise, ResourceKind
from whesl.model.configuration_changes import Configuration
from whesl.model.outcomes import ControlAction, StepOutcome, Verdict
from whesl.model.pathmap import PathMap
from whesl.runtime.isolator.core.events_and_commands import (
    CoordinatorMessage,
    Detections,
    RunStep,
    StartAttempt,
)
from whesl.runtime.isolator.core.state import Phase
from whesl.runtime.isolator.core.task_setup import Setup
from whesl.runtime.journal.records import isolator_records as records
from whesl.runtime.wire.messages import (
    Control,
    EscalationDecision,
    RecoveryDone,
    RecoveryGrant,
    RecoveryRequest,
    Welcome,
)

# What each attempt does: exceptions that it raises, or the status that it exits with.
Behaviour = list["str | int"]
RULES = (
    exception("CRASH", limit=3, steps=(step(), step(ResourceKind.JOB))),
    exception("QUOTA", level=Level.WORKFLOW_LEVEL, limit=3),
    exception("STUCK", limit=0, otherwise=Otherwise.PAUSE),
    exception("LOST", limit=0, otherwise=Otherwise.ESCALATE),
)


def play(setup: Setup, behaviour: Behaviour, crashes: list[tuple[int, bool]]) -> World:
    """Run a task to its end, with the isolator killed after so many records, early or late."""
    world = World(setup)
    left = sorted(crashes)
    started = False
    for _ in range(400):
        world.crash_at, world.crash_late = left[0] if left else (None, False)
        try:
            if not started:
                world.restart()
                started = True
            live(world, behaviour)
        except KilledError:
            left.pop(0)
            started = False
        if world.finished is not None and started:
            return world
    raise AssertionError(f"no end: {world.state.phase}, {world.kinds()}")


def live(world: World, behaviour: Behaviour) -> None:
    """Let the world do the next thing that it would do."""
    state = world.state
    world.advance(1)
    if state.phase is Phase.NEW and state.setup.coordinator:
        world.feed(CoordinatorMessage(message=Welcome(task="wf/app", admitted=True)))
    elif state.phase is Phase.GRANT and state.recovery is not None:
        asked = any(
            message.raised.ordinal == state.recovery.ordinal for message in world.sent(RecoveryRequest)
        )
        assert asked, "waits for what it never asked"
        world.feed(CoordinatorMessage(message=RecoveryGrant(task="wf/app", ordinal=state.recovery.ordinal)))
    elif state.phase is Phase.PAUSED:
        control = Control(task="wf/app", id=f"r{state.ordinal}", action=ControlAction.RESUME)
        world.feed(CoordinatorMessage(message=control))
    elif state.phase is Phase.ESCALATED and state.recovery is not None:
        decision = EscalationDecision(task="wf/app", ordinal=state.recovery.ordinal, action=Verdict.REQUEUE)
        world.feed(CoordinatorMessage(message=decision))
    elif state.phase is Phase.RUNNING:
        does = behaviour[state.attempt - 1] if state.attempt <= len(behaviour) else 0
        if isinstance(does, str) and world.running is not None:
            world.feed(Detections(attempt=state.attempt, found=(found(does),)))
        elif world.running is not None:
            world.exits(does if isinstance(does, int) else 1)
        else:
            # It ended while nobody looked; its status is in its file.
            world.running = state.attempt
            world.exits(does if isinstance(does, int) else 137)


def outcome(world: World) -> object:
    raised = [data["raised"]["exception"] for kind, data, _ in world.records if kind == "raised"]
    assert world.finished is not None
    return raised, world.finished.code, world.finished.state, world.state.attempt


def check(world: World) -> None:
    done = Counter((data["ordinal"], data["index"]) for kind, data, _ in world.records if kind == "step-done")
    assert all(count == 1 for count in done.values()), done
    assert len(world.asked(StartAttempt)) >= len(world.ever)
    for ordinal in {ordinal for ordinal, _ in done}:
        first = [c.index for c in world.asked(RunStep) if c.ordinal == ordinal]
        assert first == sorted(first), "a step ran after a later one"


SETUPS = [make_setup(*RULES), make_setup(*RULES, coordinator=True)]
EXAMPLE: Behaviour = ["CRASH", "QUOTA", "STUCK", "CRASH", 0]


def test_killed_after_every_single_record() -> None:
    for setup in SETUPS:
        whole = play(setup, EXAMPLE, [])
        check(whole)
        for position in range(1, len(whole.records) + 1):
            for late in (False, True):
                world = play(setup, EXAMPLE, [(position, late)])
                check(world)
                assert outcome(world) == outcome(whole), f"after {position}, late {late}: {world.kinds()}"


@settings(max_examples=examples(150), deadline=None)
@given(
    st.sampled_from(SETUPS),
    st.lists(st.sampled_from(["CRASH", "QUOTA", "STUCK", "LOST", 0, 3]), max_size=6),
    st.lists(st.tuples(st.integers(1, 90), st.booleans()), max_size=5, unique=True),
)
def test_killed_anywhere_any_number_of_times(
    setup: Setup, behaviour: Behaviour, crashes: list[tuple[int, bool]]
) -> None:
    whole = play(setup, behaviour, [])
    world = play(setup, behaviour, crashes)
    check(world)
    assert outcome(world) == outcome(whole)


def test_the_state_is_the_fold_of_the_journal() -> None:
    world = play(SETUPS[1], EXAMPLE, [])
    again = rebuild_task(world.setup, world.records)
    for field in ("phase", "attempt", "configuration", "raised", "budget", "history", "ended", "nodes"):
        assert getattr(again, field) == getattr(world.state, field), field


def test_the_end_of_a_recovery_is_told_again_by_the_next_isolator() -> None:
    """Killed between the record and the network: dependents' path maps hang on these words."""
    world = World(SETUPS[1])
    world.start().feed(CoordinatorMessage(message=Welcome(task="wf/app", admitted=True)))
    rules = Configuration(path_map=PathMap().with_rule("/old", "/new"))
    world.step_result = lambda run: records.StepDone(
        ordinal=run.ordinal, index=run.index, outcome=StepOutcome.CONTINUE, dependents=rules
    )
    world.feed(Detections(attempt=1, found=(found("CRASH"),)))
    assert world.kinds()[-1] == "confirmed"
    for _ in range(2):
        world.messages.clear()  # nothing of it has left the machine
        world.restart()
        (told,) = world.sent(RecoveryDone)
        assert (told.ordinal, told.outcome, told.dependents_map) == (1, "relaunched", rules)
    world.exits(0)
    world.messages.clear()
    world.restart()
    assert [message.ordinal for message in world.sent(RecoveryDone)] == [1]
