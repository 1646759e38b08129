"""The core and its coordinator, on a virtual clock: asked, waited for, done without."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from tests.runtime.isolator.conftest import World, detect, exception, hear, make_setup, step, welcome
from whesl.language.spec import Entity, Level, Operation, Otherwise, ResourceKind
from whesl.model.configuration_changes import Configuration
from whesl.model.outcomes import ControlAction, RequeueSaid, StepOutcome, Verdict
from whesl.model.pathmap import PathMap
from whesl.model.states import TaskState
from whesl.runtime.isolator.core import state_machine
from whesl.runtime.isolator.core.events_and_commands import (
    ConfigurationRead,
    CoordinatorFound,
    CoordinatorLost,
    ForbidRequeue,
    KillAttempt,
    ReadConfiguration,
    RunStep,
    Send,
    SignalAttempt,
    StartAttempt,
    WriteReconfigure,
)
from whesl.runtime.isolator.core.state import Phase
from whesl.runtime.journal.records import isolator_records as records
from whesl.runtime.wire.messages import (
    Control,
    Escalate,
    EscalationDecision,
    Finished,
    Heartbeat,
    Reconfigure,
    RecoveryDone,
    RecoveryGrant,
    RecoveryRequest,
    Register,
    Report,
    Welcome,
)

Make = Callable[..., World]
WORKFLOW = exception("QUOTA", level=Level.WORKFLOW_LEVEL)


def test_the_first_attempt_waits_for_its_configuration(world: Make) -> None:
    made = World(make_setup(coordinator=True)).start()
    assert made.sent(Register)[0].claim == "c1"
    assert made.asked(StartAttempt) == []
    moved = Configuration(version=3, path_map=PathMap().with_rule("/old", "/new"))
    welcome(made, configuration=moved)
    assert made.asked(StartAttempt)[0].configuration.path_map == moved.path_map


def test_a_job_is_taken_over_from_its_scheduler_once_with_its_first_welcome() -> None:
    made = World(make_setup(coordinator=True, requeue=RequeueSaid.NOTHING)).start()
    assert made.asked(ForbidRequeue) == [], "nobody knows of this run yet: the scheduler is to run it again"
    welcome(made)
    assert len(made.asked(ForbidRequeue)) == 1
    # A restarted isolator is welcomed again; what the coordinator has allowed meanwhile is its own decision.
    welcome(made.restart())
    welcome(made)
    assert len(made.asked(ForbidRequeue)) == 1


def test_a_job_that_was_lost_before_its_first_welcome_begins_as_another_run_of_it() -> None:
    made = World(make_setup(coordinator=True, requeue=RequeueSaid.NOTHING)).start()
    # Its node died; the scheduler has run the job again, and the directory has what the first run wrote down.
    made.restart(make_setup(coordinator=True, requeue=RequeueSaid.NOTHING, claim="c2"))
    assert made.sent(Register)[-1].claim == "c2"
    welcome(made)
    assert [start.attempt for start in made.asked(StartAttempt)] == [1]
    assert len(made.asked(ForbidRequeue)) == 1


def test_an_attempt_that_was_written_down_and_lost_with_its_node_is_not_taken_for_a_run() -> None:
    made = World(make_setup(coordinator=True, requeue=RequeueSaid.NOTHING)).start()
    made.hold = (StartAttempt, ForbidRequeue)
    welcome(made)
    made.hold = ()
    made.restart(make_setup(coordinator=True, requeue=RequeueSaid.NOTHING, claim="c2"))
    welcome(made)
    assert [start.attempt for start in made.asked(StartAttempt)] == [1, 2]
    assert made.ever == {2}


def test_a_job_that_its_scheduler_may_not_run_again_is_left_alone() -> None:
    made = World(make_setup(coordinator=True)).start()
    welcome(made)
    assert made.asked(ForbidRequeue) == []


def test_without_an_answer_the_task_starts_all_the_same(world: Make) -> None:
    made = World(make_setup(coordinator=True)).start().advance(9)
    assert made.asked(StartAttempt) == []
    made.advance(2)
    assert made.state.phase is Phase.RUNNING
    assert any("did not answer" in getattr(c, "text", "") for c in made.commands)
    assert any("has no journal" in getattr(c, "text", "") for c in made.commands)


def test_without_an_answer_the_coordinator_s_files_say_where_ancestors_put_their_files() -> None:
    made = World(make_setup(coordinator=True))
    moved = Configuration(path_map=PathMap().with_rule("/old", "/new"))
    made.read_result = ConfigurationRead(welcome=Welcome(task="wf/app", admitted=True, configuration=moved))
    made.start().advance(11)
    (start,) = made.asked(StartAttempt)
    assert start.configuration.path_map == moved.path_map
    # The coordinator's own word, when it comes, is newer than what was read.
    more = msgspec.structs.replace(moved, version=1, environment={"A": "1"})
    welcome(made, configuration=more)
    assert made.state.configuration.environment == {"A": "1"}
    assert made.state.configuration.path_map == moved.path_map


def test_an_answer_that_comes_while_the_files_are_read_starts_the_task_once() -> None:
    made = World(make_setup(coordinator=True))
    made.hold = (ReadConfiguration,)
    made.start().advance(11)
    welcome(made)
    assert len(made.asked(StartAttempt)) == 1
    made.feed(made.read_result)
    assert len(made.asked(StartAttempt)) == 1


def test_a_question_that_overtook_the_registration_is_asked_again() -> None:
    spec = exception(limit=0, otherwise=Otherwise.ESCALATE)
    made = detect(World(make_setup(spec, coordinator=True)).start().advance(11), "CRASH")
    assert len(made.sent(Escalate)) == 1
    welcome(made)
    assert len(made.sent(Escalate)) == 2
    made = detect(World(make_setup(WORKFLOW, coordinator=True)).start().advance(11), "QUOTA")
    welcome(made)
    assert len(made.sent(RecoveryRequest)) == 2
    hear(made, RecoveryGrant(task="wf/app", ordinal=1))
    welcome(made)
    assert len(made.sent(RecoveryRequest)) == 2


def test_a_task_that_another_job_owns_does_not_start(world: Make) -> None:
    made = World(make_setup(coordinator=True)).start()
    hear(made, Welcome(task="wf/app", admitted=False, reason="job 7"))
    assert made.finished is not None
    assert made.finished.code == 75
    assert made.asked(StartAttempt) == []


def test_the_job_level_needs_no_coordinator(world: Make) -> None:
    made = welcome(World(make_setup(exception(), coordinator=True)).start())
    made.feed(CoordinatorLost())
    detect(made, "CRASH")
    assert made.state.attempt == 2
    assert made.sent(RecoveryDone)[0].outcome == "relaunched"


def test_the_workflow_level_asks_first_and_then_takes_its_own_steps(world: Make) -> None:
    made = welcome(World(make_setup(WORKFLOW, coordinator=True)).start())
    detect(made, "QUOTA")
    assert made.sent(RecoveryRequest)[0].raised.exception == "QUOTA"
    assert made.state.phase is Phase.GRANT
    assert made.asked(RunStep) == []
    hear(made, RecoveryGrant(task="wf/app", ordinal=1))
    hear(made, RecoveryGrant(task="wf/app", ordinal=1))
    assert len(made.asked(RunStep)) == 1
    assert made.state.attempt == 2


def test_the_wait_for_the_coordinator_is_bounded_and_said(world: Make) -> None:
    made = welcome(World(make_setup(WORKFLOW, coordinator=True)).start())
    made.feed(CoordinatorLost())
    detect(made, "QUOTA").advance(119)
    assert made.finished is None
    assert any("waiting for the coordinator" in getattr(c, "text", "") for c in made.commands)
    made.advance(2)
    assert made.finished is not None
    assert made.finished.state is TaskState.FAILED
    assert "did not answer" in made.finished.reason


def test_a_wait_that_the_coordinator_leaves_us_in_is_told_too() -> None:
    made = welcome(World(make_setup(WORKFLOW, coordinator=True)).start())
    detect(made, "QUOTA")
    assert not any("waiting for" in getattr(c, "text", "") for c in made.commands)
    made.now += 10.0
    made.feed(CoordinatorLost())
    assert any("waiting for the coordinator, at most 110 s" in getattr(c, "text", "") for c in made.commands)


def test_a_refused_grant_is_else(world: Make) -> None:
    spec = exception("QUOTA", level=Level.WORKFLOW_LEVEL, otherwise=Otherwise.PAUSE)
    made = detect(welcome(World(make_setup(spec, coordinator=True)).start()), "QUOTA")
    hear(made, RecoveryGrant(task="wf/app", ordinal=1, refused="no room"))
    assert made.state.phase is Phase.PAUSED


def test_a_grant_may_name_what_the_exception_became(world: Make) -> None:
    """Counted over all tasks of the workflow it was another one: that one's steps are done, and reported."""
    higher = exception(
        "BROKEN",
        level=Level.WORKFLOW_LEVEL,
        steps=(step(), step(resource=ResourceKind.JOB, operation=Operation.REPLACE)),
    )
    made = World(make_setup(WORKFLOW, higher, coordinator=True)).start()
    detect(welcome(made), "QUOTA")
    hear(made, RecoveryGrant(task="wf/app", ordinal=1, transformed="BROKEN"))
    assert len(made.asked(RunStep)) == 2
    assert made.state.attempt == 2
    assert made.sent(RecoveryDone)[-1].exception == "BROKEN"


def test_what_an_exception_became_has_its_own_budget_until_a_person_resumes() -> None:
    higher = exception("BROKEN", level=Level.WORKFLOW_LEVEL, limit=1, otherwise=Otherwise.PAUSE)
    made = welcome(World(make_setup(WORKFLOW, higher, coordinator=True)).start())
    for ordinal in (1, 2):
        detect(made, "QUOTA")
        hear(made, RecoveryGrant(task="wf/app", ordinal=ordinal, transformed="BROKEN"))
    assert (made.state.attempt, made.state.phase) == (2, Phase.PAUSED)
    made.restart()
    hear(made, Control(task="wf/app", id="r1", action=ControlAction.RESUME))
    hear(made, RecoveryGrant(task="wf/app", ordinal=2, transformed="BROKEN"))
    assert (made.state.attempt, made.state.phase) == (3, Phase.RUNNING)


@pytest.mark.parametrize("refused", ["", "no room"])
def test_a_grant_that_is_repeated_does_not_decide_again(refused: str) -> None:
    """A coordinator says it again to each start of an isolator; this task waits for a person since."""
    higher = exception("BROKEN", level=Level.WORKFLOW_LEVEL, limit=0, otherwise=Otherwise.ESCALATE)
    made = welcome(World(make_setup(WORKFLOW, higher, coordinator=True)).start())
    detect(made, "QUOTA")
    hear(made, RecoveryGrant(task="wf/app", ordinal=1, transformed="BROKEN"))
    hear(made, EscalationDecision(task="wf/app", ordinal=1, action=Verdict.PAUSE))
    assert (made.state.phase, len(made.sent(Escalate))) == (Phase.PAUSED, 1)
    welcome(made.restart())
    before = len(made.records)
    hear(made, RecoveryGrant(task="wf/app", ordinal=1, refused=refused, transformed="BROKEN"))
    assert (made.state.phase, len(made.sent(Escalate))) == (Phase.PAUSED, 1)
    assert made.finished is None
    assert len(made.records) == before


def test_a_grant_for_an_exception_that_is_unknown_here_changes_nothing(world: Make) -> None:
    made = detect(welcome(World(make_setup(WORKFLOW, coordinator=True)).start()), "QUOTA")
    hear(made, RecoveryGrant(task="wf/app", ordinal=1, transformed="ELSEWHERE"))
    assert made.sent(RecoveryDone)[-1].exception == "QUOTA"


def test_steps_of_others_cannot_be_done_without_a_coordinator(world: Make) -> None:
    spec = exception("QUOTA", level=Level.WORKFLOW_LEVEL, steps=(step(entity=Entity.WMS), step()))
    made = detect(world(spec), "QUOTA").advance(2)
    assert made.finished is not None
    assert made.finished.state is TaskState.FAILED


def test_without_a_coordinator_the_job_s_own_steps_suffice(world: Make) -> None:
    assert detect(world(WORKFLOW), "QUOTA").state.attempt == 2


@pytest.mark.parametrize(
    ("action", "code", "state"),
    [("requeue", 75, TaskState.ESCALATED), ("fail", 1, TaskState.FAILED)],
)
def test_an_escalation_is_decided_by_the_coordinator(
    world: Make, action: str, code: int, state: TaskState
) -> None:
    spec = exception(limit=0, otherwise=Otherwise.ESCALATE)
    made = detect(welcome(World(make_setup(spec, coordinator=True)).start()), "CRASH")
    assert made.sent(Escalate)[0].reason == "budget-spent"
    assert made.state.task_state is TaskState.ESCALATED
    hear(made, EscalationDecision(task="wf/app", ordinal=1, action=Verdict(action)))
    assert made.finished is not None
    assert (made.finished.code, made.finished.state) == (code, state)
    assert made.sent(Finished)[0].exit_code == code


def test_the_wait_for_a_decision_is_bounded(world: Make) -> None:
    spec = exception(limit=0, otherwise=Otherwise.ESCALATE)
    made = detect(welcome(World(make_setup(spec, coordinator=True)).start()), "CRASH").advance(121)
    assert made.finished is not None
    assert made.finished.code == 75


MOVED = Configuration(version=2, path_map=PathMap().with_rule("/old", "/new"))


def _told(made: World) -> list[int]:
    """The signals that the program was sent, each after its file was written; 0 for the file alone."""
    told: list[int] = []
    for command in made.commands:
        if isinstance(command, WriteReconfigure):
            assert command.configuration.path_map == MOVED.path_map
            told.append(0)
        elif isinstance(command, SignalAttempt):
            assert command.attempt == made.state.attempt
            assert command.version == made.state.configuration.version, "it is not held until it is handled"
            told[-1] = command.signum
    return told


def test_a_running_task_is_reconfigured_once(world: Make) -> None:
    made = welcome(World(make_setup(coordinator=True)).start())
    for _ in range(2):
        hear(made, Reconfigure(task="wf/app", configuration=MOVED, signal=10))
    assert _told(made) == [10]
    assert made.state.configuration.path_map == MOVED.path_map


@pytest.mark.parametrize("signal", [0, 10])
def test_a_program_that_was_being_started_is_told_when_it_runs(signal: int) -> None:
    """Its start had been ordered with the old configuration: the file was then overwritten with that."""
    made = World(make_setup(coordinator=True)).start()
    made.hold = (StartAttempt,)
    welcome(made)
    hear(made, Reconfigure(task="wf/app", configuration=MOVED, signal=signal))
    assert _told(made) == []
    made.running = 1
    made.feed(records.Launched(attempt=1, pid=1, started=1))
    assert _told(made) == [signal]


def test_a_change_that_was_made_while_the_coordinator_was_away_reaches_the_program() -> None:
    made = welcome(World(make_setup(coordinator=True)).start())
    made.feed(CoordinatorLost()).feed(CoordinatorFound())
    for _ in range(2):
        welcome(made, configuration=MOVED, signal=10)
    assert _told(made) == [10]


def test_an_isolator_that_is_started_again_tells_a_program_that_may_not_have_been_told() -> None:
    made = welcome(World(make_setup(exception(), coordinator=True)).start())
    made.hold = (WriteReconfigure, SignalAttempt)
    hear(made, Reconfigure(task="wf/app", configuration=MOVED, signal=10))
    made.commands.clear()
    made.hold = ()
    welcome(made.restart(), configuration=MOVED, signal=10)
    assert _told(made) == [10]
    # The next attempt begins with it.
    made.commands.clear()
    detect(made, "CRASH")
    assert made.state.attempt == 2
    made.restart()
    assert _told(made) == []


def test_what_the_task_changed_itself_survives_a_reconfiguration(world: Make) -> None:
    made = welcome(World(make_setup(exception(), coordinator=True)).start())
    made.step_result = lambda run: records.StepDone(
        ordinal=run.ordinal,
        index=run.index,
        outcome=StepOutcome.CONTINUE,
        configuration=Configuration(version=5, environment={"A": "1"}),
    )
    detect(made, "CRASH")
    hear(made, Reconfigure(task="wf/app", configuration=Configuration(version=2, environment={"B": "2"})))
    assert made.state.configuration.environment == {"A": "1", "B": "2"}
    assert made.state.configuration.version == 6


def test_a_full_journal_is_told_and_no_record(world: Make) -> None:
    made = welcome(World(make_setup(coordinator=True)).start())
    state, commands = state_machine.step(
        made.state, records.JournalTroubled(trouble="the disk is full"), made.now
    )
    (told,) = [command.message for command in commands if isinstance(command, Send)]
    assert isinstance(told, Report)
    assert told.record == records.JournalTroubled(trouble="the disk is full")
    assert state == made.state and len(commands) == 1


def test_heartbeats_go_on_while_it_runs(world: Make) -> None:
    made = welcome(World(make_setup(coordinator=True)).start(), heartbeat=5.0).advance(21)
    assert len(made.sent(Heartbeat)) == 4


def test_contact_found_again_registers_again(world: Make) -> None:
    made = welcome(World(make_setup(coordinator=True)).start())
    made.feed(CoordinatorLost()).feed(CoordinatorFound())
    assert len(made.sent(Register)) == 2


# Coupled tasks ------------------------------------------------------------------------------------


def again(version: int, restart: float) -> Reconfigure:
    environment = {"TURN": str(version)}
    configuration = Configuration(version=version, environment=environment, restart=restart)
    return Reconfigure(task="wf/app", configuration=configuration)


def test_a_task_is_restarted_with_the_one_that_it_is_coupled_with(world: Make) -> None:
    made = welcome(world(exception(), coordinator=True))
    hear(made, again(1, 100.0))
    starts = made.asked(StartAttempt)
    assert [(start.attempt, start.configuration.environment) for start in starts] == [
        (1, {}),
        (2, {"TURN": "1"}),
    ]
    assert made.asked(WriteReconfigure) == []
    hear(made, again(1, 100.0))
    hear(made.restart(), again(1, 100.0))
    assert made.state.attempt == 2
    hear(made, again(2, 200.0))
    assert made.state.attempt == 3
    assert made.state.budget.uses == {} and made.state.phase is Phase.RUNNING
    assert made.exits(0).finished is not None


def test_a_task_that_is_not_running_yet_is_started_once(world: Make) -> None:
    made = world(exception(), coordinator=True)
    welcome(made, configuration=again(1, 100.0).configuration)
    assert made.state.attempt == 1
    made = world(exception(), coordinator=True)
    made.hold = (StartAttempt,)
    welcome(made)
    hear(made, again(1, 100.0))
    made.hold = ()
    made.running = 1
    made.ever.add(1)
    made.feed(records.Launched(attempt=1, pid=1, started=1))
    assert made.state.attempt == 2


def test_an_observed_task_is_not_restarted_for_another(world: Make) -> None:
    made = hear(welcome(world(exception(), coordinator=True, observe=True)), again(1, 100.0))
    assert made.state.attempt == 1


def test_an_isolator_killed_in_a_restart_for_another_goes_on_with_it(world: Make) -> None:
    made = welcome(world(exception(), coordinator=True))
    made.hold = (KillAttempt,)
    hear(made, again(1, 100.0))
    assert made.state.phase is Phase.FENCING
    made.hold = ()
    assert made.restart().state.attempt == 2
