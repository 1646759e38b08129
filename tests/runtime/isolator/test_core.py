"""The core on a virtual clock: each rule of docs/design/recovery.md."""

from __future__ import annotations

import signal
from collections.abc import Callable

import msgspec
import pytest

from tests.runtime.isolator.conftest import (
    NOW,
    World,
    count_detection,
    detect,
    exception,
    exit_detection,
    found,
    hang_detection,
    hear,
    make_setup,
    step,
    welcome,
)
from whesl.language.spec import Otherwise, ResourceKind
from whesl.model.configuration_changes import Configuration
from whesl.model.evidence import Evidence
from whesl.model.outcomes import ControlAction, StepOutcome
from whesl.model.pathmap import PathMap
from whesl.model.states import TaskState
from whesl.runtime.isolator.core.events_and_commands import (
    AttemptNotStarted,
    CollectEvidence,
    Detections,
    JobEnded,
    KillAttempt,
    RunStep,
    Signalled,
    StartAttempt,
    Tick,
)
from whesl.runtime.isolator.core.recovery import recovery_decision
from whesl.runtime.isolator.core.state import Phase
from whesl.runtime.journal.records import isolator_records as records
from whesl.runtime.wire.messages import Control, Reconfigure

Make = Callable[..., World]


# A task without trouble ---------------------------------------------------------------------------


def test_a_task_that_succeeds_completes(world: Make) -> None:
    done = world().exits(0)
    assert done.finished is not None
    assert (done.finished.code, done.finished.state) == (0, TaskState.COMPLETED)


def test_a_failure_that_no_exception_covers_is_visible_with_its_status(world: Make) -> None:
    done = world(exception()).exits(3)
    assert done.finished is not None
    assert (done.finished.code, done.finished.state) == (3, TaskState.FAILED)
    assert "raised" not in done.kinds()


def test_what_cannot_be_started_fails_with_126(world: Make) -> None:
    made = World(make_setup())
    made.hold = (StartAttempt,)
    made.start().feed(AttemptNotStarted(attempt=1, reason="no such directory"))
    assert made.finished is not None
    assert made.finished.code == 126


# The sequence -------------------------------------------------------------------------------------


def test_a_recovery_is_written_down_in_order(world: Make) -> None:
    made = detect(world(exception()), "CRASH")
    order = ["raised", "decided", "fenced", "step-begun", "step-done", "relaunched", "attempt", "launched"]
    kinds = [kind for kind in made.kinds() if kind in (*order, "confirmed")]
    assert kinds[-9:] == [*order, "confirmed"]
    assert made.state.attempt == 2
    assert made.state.phase is Phase.RUNNING


def test_the_old_attempt_is_fenced_before_anything_new(world: Make) -> None:
    made = world(exception())
    made.hold = (KillAttempt,)
    detect(made, "CRASH").advance(1000)
    assert made.asked(RunStep) == []
    assert len(made.asked(StartAttempt)) == 1
    made.hold = ()
    made.running = None
    made.feed(records.Fenced(attempt=1, seconds=1.0))
    assert len(made.asked(StartAttempt)) == 2


def test_what_cannot_be_killed_is_tried_again_and_then_comes_to_its_else(world: Make) -> None:
    made = world(exception())
    made.hold = (KillAttempt,)
    detect(made, "CRASH").feed(records.Unfenced(attempt=1, reason="stuck"))
    tries = len(made.asked(KillAttempt))
    made.advance(6)
    assert len(made.asked(KillAttempt)) == tries + 1
    made.advance(200).feed(records.Unfenced(attempt=1, reason="stuck"))
    assert made.finished is not None
    assert made.finished.code == 1
    assert len(made.asked(StartAttempt)) == 1


def test_a_fence_that_is_tried_again_is_left_to_end(world: Make) -> None:
    """Each tick had begun it anew, and a coordinator's heartbeats are ticks: it waited for ever."""
    made = world(exception())
    made.hold = (KillAttempt,)
    detect(made, "CRASH").feed(records.Unfenced(attempt=1, reason="stuck"))
    tries = len(made.asked(KillAttempt))
    for second in range(60):
        made.advance(1).feed(Tick())
        assert len(made.asked(KillAttempt)) == tries + (second >= 4), second
    made.feed(records.Unfenced(attempt=1, reason="stuck")).advance(6)
    assert len(made.asked(KillAttempt)) == tries + 2


def test_an_exception_at_the_exit_wins_over_the_status(world: Make) -> None:
    made = world(exception()).exits(3, found("CRASH"))
    assert made.finished is None
    assert made.state.attempt == 2


def test_an_exception_with_status_zero_is_handled(world: Make) -> None:
    assert world(exception()).exits(0, found("CRASH")).state.attempt == 2


def test_the_cascade_of_an_exception_is_dropped_and_recorded(world: Make) -> None:
    other = exception("OTHER")
    made = detect(world(exception(), other), "CRASH", "OTHER")
    assert made.kinds().count("raised") == 1
    assert made.last("dropped")["exception"] == "OTHER"
    detect(made, "OTHER", attempt=1)
    assert made.kinds().count("raised") == 1


def test_stacks_are_taken_before_a_hung_attempt_is_killed(world: Make) -> None:
    made = world(exception("HANG", detections=(hang_detection(),)))
    made.feed(Detections(attempt=1, found=(found("HANG", kind="hang"),)))
    kinds = [type(command) for command in made.commands]
    assert kinds.index(CollectEvidence) < kinds.index(KillAttempt)
    assert made.last("evidence")["detail"] == "stack"


def test_the_node_on_which_a_hung_attempt_cannot_run_is_swapped(world: Make) -> None:
    hang = exception("HANG", detections=(hang_detection(),), steps=(step(ResourceKind.NODE),))
    made = world(hang, nodes=("n1", "n2", "n3"), active=2)
    stuck = Evidence(kind="stuck", time=made.now, node="n2", detail="stopped (state T): app (17)")
    made.hold = (KillAttempt, CollectEvidence)
    made.feed(Detections(attempt=1, found=(found("HANG", kind="hang"),)))
    made.feed(records.EvidenceTaken(attempt=1, detail="stacks", stuck=(stuck,)))
    made.restart()
    assert made.state.recovery is not None
    assert [item.suspect for item in made.state.recovery.steps] == ["n2"]
    assert made.state.recovery.raised.evidence[-1] == stuck


def test_counting_transforms_before_anything_is_handled(world: Make) -> None:
    higher = exception("HIGHER", detections=(count_detection("CRASH", 2),))
    made = detect(world(exception(), higher), "CRASH")
    detect(made, "CRASH")
    raised = [data["raised"]["exception"] for kind, data, _ in made.records if kind == "raised"]
    assert raised == ["CRASH", "HIGHER"]
    assert made.last("raised")["raised"]["transformed_from"] == ["CRASH"]


# Budget, back-off, else ---------------------------------------------------------------------------


def test_the_budget_ends_in_a_visible_failure(world: Make) -> None:
    made = world(exception(limit=2))
    for _ in range(3):
        detect(made, "CRASH").advance(2)
    assert made.finished is not None
    assert (made.finished.code, made.finished.state) == (1, TaskState.FAILED)
    assert made.state.attempt == 3


def test_a_spent_budget_fails_with_the_task_s_own_status(world: Make) -> None:
    made = world(exception(limit=0)).exits(42, found("CRASH"))
    assert made.finished is not None
    assert made.finished.code == 42


def test_back_off_doubles(world: Make) -> None:
    made = world(exception(backoff=4.0, limit=3))
    detect(made, "CRASH").advance(3.9)
    assert made.state.attempt == 1
    made.advance(0.2)
    assert made.state.attempt == 2
    detect(made, "CRASH").advance(7.9)
    assert made.state.attempt == 2
    made.advance(0.2)
    assert made.state.attempt == 3


def test_pause_keeps_the_allocation_until_resume(world: Make) -> None:
    made = detect(world(exception(limit=0, otherwise=Otherwise.PAUSE)), "CRASH").advance(100_000)
    assert made.finished is None
    assert made.state.task_state is TaskState.PAUSED
    hear(made, Control(task="wf/app", id="r1", action=ControlAction.RESUME))
    assert made.state.attempt == 2
    assert made.state.phase is Phase.RUNNING


def test_a_repeated_resume_is_one(world: Make) -> None:
    made = detect(world(exception(limit=1, otherwise=Otherwise.PAUSE)), "CRASH")
    detect(made, "CRASH")
    for _ in range(2):
        hear(made, Control(task="wf/app", id="r1", action=ControlAction.RESUME))
    assert made.state.attempt == 3
    # The budget began anew with the resume.
    detect(made, "CRASH")
    assert made.state.attempt == 4


def test_the_time_limit_ends_a_pause(world: Make) -> None:
    made = detect(world(exception(limit=0, otherwise=Otherwise.PAUSE)), "CRASH")
    made.feed(Signalled(signum=signal.SIGTERM))
    assert made.finished is not None
    assert (made.finished.code, made.finished.state) == (143, TaskState.CANCELLED)


def test_else_escalate_raises_the_exception_that_is_named(world: Make) -> None:
    low = exception(limit=0, otherwise=Otherwise.ESCALATE, escalate_to="HIGH")
    made = detect(world(low, exception("HIGH")), "CRASH")
    assert made.last("raised")["raised"]["exception"] == "HIGH"
    assert made.state.attempt == 2


def test_escalation_in_a_circle_ends(world: Make) -> None:
    first = exception("A", limit=0, otherwise=Otherwise.ESCALATE, escalate_to="B")
    second = exception("B", limit=0, otherwise=Otherwise.ESCALATE, escalate_to="A")
    made = detect(world(first, second), "A")
    assert made.finished is not None
    assert made.finished.code == 75


def test_a_step_that_fails_leads_to_else(world: Make) -> None:
    made = world(exception(otherwise=Otherwise.PAUSE))
    made.step_result = lambda run: records.StepDone(
        ordinal=run.ordinal, index=run.index, outcome=StepOutcome.FAIL, note="no room"
    )
    detect(made, "CRASH")
    assert made.state.phase is Phase.PAUSED
    assert "no room" in made.state.paused


def test_a_step_may_skip_the_task(world: Make) -> None:
    made = world(exception())
    made.step_result = lambda run: records.StepDone(
        ordinal=run.ordinal, index=run.index, outcome=StepOutcome.SKIP
    )
    detect(made, "CRASH")
    assert made.finished is not None
    assert (made.finished.code, made.finished.state) == (0, TaskState.SKIPPED)


def test_an_argument_that_stands_for_nothing_is_else(world: Make) -> None:
    wrong = exception(steps=(step(command=["run", "${nothing}"]),))
    made = detect(world(wrong), "CRASH").advance(2)
    assert made.finished is not None
    assert made.finished.state is TaskState.FAILED
    assert "nothing" in made.finished.reason


# Observe mode -------------------------------------------------------------------------------------


def test_an_attempt_that_was_found_began_when_it_was_started() -> None:
    """What it wrote before the isolator had loaded is its own, too."""
    made = World(make_setup(exception()))
    made.hold = (StartAttempt,)
    made.start()
    made.running = 1
    made.feed(records.Launched(attempt=1, pid=1, started=1, began=NOW - 5))
    assert made.state.first_started == made.state.attempt_started == NOW - 5
    assert made.restart().state.first_started == NOW - 5


def test_observe_mode_raises_and_touches_nothing(world: Make) -> None:
    made = world(exception(), observe=True)
    detect(made, "CRASH", "CRASH")
    assert made.kinds().count("raised") == 1
    assert made.last("observed")["action"] == "recover"
    assert made.last("observed")["steps"]
    assert made.asked(KillAttempt) == [] and made.asked(RunStep) == []
    assert made.running == 1
    done = made.exits(5, found("CRASH"))
    assert done.finished is not None
    assert done.finished.code == 5


def test_observe_mode_counts_what_it_has_told_already(world: Make) -> None:
    higher = exception("HIGHER", detections=(count_detection("CRASH", 3),))
    made = detect(world(exception(), higher, observe=True), "CRASH", "CRASH")
    detect(made, "CRASH")
    raised = [data["raised"]["exception"] for kind, data, _ in made.records if kind == "raised"]
    assert raised == ["CRASH", "HIGHER"]


# People and signals -------------------------------------------------------------------------------


def test_term_is_the_task_s_own_and_then_the_end(world: Make) -> None:
    made = world(exception(), term_grace=20.0)
    made.feed(Signalled(signum=signal.SIGTERM))
    detect(made, "CRASH")
    assert "raised" not in made.kinds()
    made.advance(19)
    assert made.finished is None
    made.advance(2)
    assert made.finished is not None
    assert made.finished.code == 143


def test_a_task_that_ends_by_itself_at_the_time_limit_keeps_its_status(world: Make) -> None:
    made = world().feed(Signalled(signum=signal.SIGTERM)).exits(7)
    assert made.finished is not None
    assert (made.finished.code, made.finished.state) == (7, TaskState.CANCELLED)


def test_term_to_the_program_alone_leaves_it_the_time_that_its_job_has(world: Make) -> None:
    made = world(exception(), term_grace=20.0)
    made.feed(Signalled(signum=signal.SIGTERM, alone=True))
    made.advance(300)
    assert made.finished is None
    detect(made, "CRASH")
    assert "raised" not in made.kinds(), "recovery is over"
    made.feed(Signalled(signum=signal.SIGTERM))
    made.advance(21)
    assert made.finished is not None, "the job's own end leaves it as long as ever"
    assert made.finished.code == 143


def test_the_time_that_a_program_was_left_outlives_its_isolator(world: Make) -> None:
    """An isolator that was started again meanwhile killed the program."""
    made = world(exception(), term_grace=20.0)
    made.feed(Signalled(signum=signal.SIGTERM, alone=True))
    made.restart()
    made.advance(300)
    assert made.finished is None
    assert made.running == 1
    made.exits(0)
    assert made.finished is not None
    assert made.finished.code == 0


@pytest.mark.parametrize("alone", [True, False])
@pytest.mark.parametrize("job", ["7", ""])
def test_an_end_by_sigterm_to_all_of_a_job_is_told_as_such(world: Make, job: str, alone: bool) -> None:
    """That job may run again: only its resource manager knows."""
    made = world(exception(), job_id=job)
    made.feed(Signalled(signum=signal.SIGTERM, alone=alone))
    made.exits(143)
    ended = made.state.ended
    assert ended is not None and ended.terminated is (bool(job) and not alone)


def test_a_batch_shell_that_was_killed_is_the_end(world: Make) -> None:
    made = world(exception())
    detect(made, "CRASH")
    made.feed(JobEnded())
    assert made.finished is not None
    assert (made.finished.code, made.finished.state) == (137, TaskState.FAILED)
    assert made.finished.reason == "its batch shell was killed, and its job ended"
    ended = made.state.ended
    assert ended is not None and ended.with_job, "how the job has ended its resource manager knows"


def test_a_batch_shell_that_is_killed_while_its_task_is_cancelled_changes_nothing(world: Make) -> None:
    made = world(exception())
    made.feed(Signalled(signum=signal.SIGTERM))
    made.feed(JobEnded())
    assert made.finished is not None
    assert (made.finished.code, made.finished.state) == (137, TaskState.CANCELLED)
    ended = made.state.ended
    assert ended is not None and not ended.with_job


def test_cancel_kills_and_ends_with_143(world: Make) -> None:
    made = hear(world(), Control(task="wf/app", id="c", action=ControlAction.CANCEL))
    assert made.running is None
    assert made.finished is not None
    assert made.finished.code == 143


def test_a_person_may_pause_and_resume_a_running_task(world: Make) -> None:
    made = hear(world(), Control(task="wf/app", id="p", action=ControlAction.PAUSE))
    assert made.running is None
    assert made.state.phase is Phase.PAUSED
    hear(made, Control(task="wf/app", id="r", action=ControlAction.RESUME))
    assert made.running == 2


def test_an_exit_detection_is_like_any_other(world: Make) -> None:
    made = world(exception("FAILED", detections=(exit_detection(),)))
    assert made.exits(9, found("FAILED", kind="exit")).state.attempt == 2


# A second start of the job's script ---------------------------------------------------------------


def test_a_requeued_job_goes_on_counting_attempts(world: Make) -> None:
    made = world(exception(), nodes=("n1", "n2"), active=2)
    detect(made, "CRASH")
    made.running = None
    again = msgspec.structs.replace(made.setup, claim="c2", nodes=("n8", "n9"))
    made.restart(again)
    assert made.state.attempt == 3
    assert made.state.nodes.active == ("n8", "n9")
    assert made.asked(StartAttempt)[-1].attempt == 3


def test_a_failure_leaves_the_task_its_last_words(world: Make) -> None:
    made = detect(world(exception(limit=0)), "CRASH")
    assert made.asked(KillAttempt) == []
    made.advance(0.5).exits(9)
    assert made.finished is not None
    assert made.finished.code == 9


def test_last_words_are_bounded(world: Make) -> None:
    made = detect(world(exception(limit=0)), "CRASH").advance(1.1)
    assert made.finished is not None
    assert (made.finished.code, made.running) == (1, None)


def test_a_recovery_starts_from_where_the_failed_attempt_s_files_are(world: Make) -> None:
    """The task was told of a move while it ran, and then fails itself: its files never moved."""
    made = welcome(World(make_setup(exception(), coordinator=True)).start())
    moved = PathMap().with_rule("/old", "/new")
    seen: list[PathMap] = []

    def run(command: RunStep) -> records.StepDone:
        configuration = recovery_decision.context(made.state).configuration
        seen.append(configuration.path_map)
        changed = msgspec.structs.replace(configuration, path_map=PathMap().with_rule("/data", "/big"))
        return records.StepDone(
            ordinal=command.ordinal, index=command.index, outcome=StepOutcome.CONTINUE, configuration=changed
        )

    made.step_result = run
    hear(made, Reconfigure(task="wf/app", configuration=Configuration(version=2, path_map=moved)))
    detect(made, "CRASH")
    assert seen == [PathMap()]
    assert made.state.configuration.path_map == moved.with_rule("/data", "/big")
    assert made.asked(StartAttempt)[-1].configuration.path_map == moved.with_rule("/data", "/big")
