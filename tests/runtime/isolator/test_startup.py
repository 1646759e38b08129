"""A restart is confirmed when the program runs; a start that the resource manager refuses is tried again."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.runtime.isolator.conftest import World, detect, exception, exit_detection, found, make_setup
from whesl.language.spec import Otherwise
from whesl.managers.resource.job_step_refusal import refusal
from whesl.model.evidence import LastLines
from whesl.model.launcher_programs import is_rank
from whesl.runtime.isolator.core.events_and_commands import (
    AttemptExited,
    KillAttempt,
    ProbeProgram,
    ProgramSeen,
    StartAttempt,
)
from whesl.runtime.isolator.core.recovery.recovery_confirmation import LONGEST_WAIT, REFUSED_LIMIT
from whesl.runtime.isolator.core.state import Phase

Make = Callable[..., World]
UNREACHABLE = "Unable to contact slurm controller (connect failure)"
AFTER = "srun: Check SLURM_JOB_ID environment variable. Expired or invalid job 7"
AWAY = "srun: error: Unable to confirm allocation for job 7: Socket timed out on send/recv operation"


def refuse(world: World, *words: str, code: int = 1) -> World:
    """Have the present attempt's launcher end as it does when the resource manager is away."""
    attempt = world.running
    assert attempt is not None
    world.running = None
    names = tuple(found(word) for word in words)
    last = LastLines(stderr=(AWAY, AFTER))
    return world.feed(AttemptExited(attempt=attempt, code=code, last=last, found=names))


def unseen(world: World) -> World:
    """Have no program be seen by itself."""
    world.hold = (ProbeProgram,)
    return world


def test_a_restart_is_confirmed_by_the_program_and_not_by_its_launcher(world: Make) -> None:
    made = unseen(world(exception()))
    detect(made, "CRASH")
    assert made.kinds()[-1] == "launched"
    made.now += 3.0
    made.feed(ProgramSeen(attempt=1)).feed(ProgramSeen(attempt=2, node="n1"))
    assert made.last("confirmed") == {
        "kind": "confirmed",
        "ordinals": [1],
        "attempt": 2,
        "seconds": 3.0,
        "node": "n1",
    }
    made.feed(ProgramSeen(attempt=2))
    assert made.kinds().count("confirmed") == 1


def test_a_program_that_completes_unseen_has_run(world: Make) -> None:
    made = unseen(world(exception()))
    detect(made, "CRASH").exits(0)
    assert [kind for kind in made.kinds() if kind in ("confirmed", "recovered", "finished")] == [
        "confirmed",
        "recovered",
        "finished",
    ]


def test_a_restart_that_fails_unseen_is_never_confirmed(world: Make) -> None:
    made = unseen(world(exception()))
    detect(made, "CRASH")
    detect(made, "CRASH").feed(ProgramSeen(attempt=3))
    assert made.last("confirmed")["ordinals"] == [2]


def test_a_refused_start_is_tried_again_and_costs_no_recovery(world: Make) -> None:
    made = unseen(world(exception(limit=1)))
    detect(made, "CRASH")
    for _ in range(3):
        kills = len(made.asked(KillAttempt))
        refuse(made)
        assert made.state.phase is Phase.BACKOFF
        assert len(made.asked(KillAttempt)) == kills + 1, "its script may have left something behind"
        made.advance(LONGEST_WAIT)
    assert "confirmed" not in made.kinds() and made.kinds().count("raised") == 1
    made.feed(ProgramSeen(attempt=5))
    assert made.last("confirmed")["ordinals"] == [1]
    made.exits(0)
    assert made.finished is not None and made.finished.code == 0


def test_the_waits_grow_and_end_with_the_exception_s_else(world: Make) -> None:
    made = unseen(world(exception(otherwise=Otherwise.FAIL)))
    detect(made, "CRASH")
    began = made.now
    waits = []
    while made.finished is None and made.state.phase is not Phase.FINISHED:
        refuse(made)
        if made.finished is None:
            before = made.now
            starts = len(made.asked(StartAttempt))
            while len(made.asked(StartAttempt)) == starts:
                made.advance(0.5)
            waits.append(round(made.now - before))
    assert waits[:6] == [1, 2, 4, 8, 16, 30]
    assert REFUSED_LIMIT <= made.now - began <= REFUSED_LIMIT + LONGEST_WAIT + len(waits)
    assert made.finished is not None and made.finished.code == 1
    assert "refused" in made.finished.reason and AWAY in made.finished.reason


def test_a_refusal_is_no_exit_of_the_program_s(world: Make) -> None:
    """A rule for any failure would spend its budget on a controller that is away."""
    rules = exception("ANY", detections=(exit_detection(),), limit=1)
    made = unseen(world(rules))
    made.exits(1, found("ANY", kind="exit"))
    refuse(made, "ANY").advance(LONGEST_WAIT)
    assert made.kinds().count("raised") == 1 and made.finished is None


def test_a_first_start_that_is_refused_fails_as_the_user_s_own(world: Make) -> None:
    made = refuse(world(exception()))
    assert made.finished is not None and made.finished.code == 1


def test_a_refused_start_is_taken_up_by_the_next_isolator(world: Make) -> None:
    made = unseen(world(exception()))
    detect(made, "CRASH")
    refuse(made)
    made.restart(make_setup(exception()))
    made.advance(LONGEST_WAIT)
    assert [start.attempt for start in made.asked(StartAttempt)] == [1, 2, 3]


def test_a_restarted_isolator_looks_for_the_program_again(world: Make) -> None:
    made = unseen(world(exception()))
    detect(made, "CRASH")
    made.hold = ()
    made.restart(make_setup(exception()))
    assert made.last("confirmed")["attempt"] == 2


@pytest.mark.parametrize(
    "line",
    [
        AWAY,
        f"srun: error: Unable to confirm allocation for job 1: {UNREACHABLE}",
        "srun: error: Unable to create step for job 5: Requested nodes are busy",
        # Of a slurmctld that was started again, and had not heard of the end of the step before.
        "srun: error: Unable to create step for job 5: Memory required by task is not available",
        "srun: error: Unable to create step for job 5: Job/step already completing or completed",
        "srun: error: Unable to allocate resources: Unable to contact slurm controller (connect failure)",
        "srun: error: Unable to contact slurm controller (connect failure)",  # the embedded one's
        "srun: error: Slurm job 5 has expired",
        "flux-run: ERROR: Unable to connect to Flux: broker socket /run/flux/local was not found",
        "flux-job: flux_open: No such file or directory",
        "cat: /home/u/.whesl/t/attempt-2/script: Stale file handle",
        "/home/u/.whesl/t/attempt-2/script: line 3: /home/u/.whesl/t/bin/srun: Input/output error",
        "bash: line 1: /home/u/.whesl/t/bin/mpirun: Stale file handle",
        "/home/u/.whesl/t/bin/srun: /home/u/.whesl/t/bin/srun: Input/output error",
    ],
)
def test_what_launchers_say_when_they_are_refused(line: str) -> None:
    assert refusal(("a line", line, AFTER)) == line


@pytest.mark.parametrize(
    "line",
    [
        "srun: error: n02: task 1: Killed",
        "srun: error: Unable to create step for job 5: More processors requested than permitted",
        "srun: error: Unable to create step for job 5: Invalid node name specified",
        "srun: Job 12 step creation temporarily disabled, retrying (Requested nodes are busy)",
        "the program: srun: error: Unable to contact slurm controller (connect failure)",
        "srun: unrecognized option '--foo'",
        "flux-run: ERROR: [Errno 22] unsatisfiable request",
        "bash: line 1: /home/u/bin/srun: Permission denied",
        "bash: line 1: /home/u/results: Input/output error",
        "my srun: /home/u/srun: Input/output error",
    ],
)
def test_what_is_the_program_s_own_affair(line: str) -> None:
    assert refusal((line,)) == ""


@pytest.mark.parametrize(
    ("environment", "rank"),
    [
        (b"A=1\0SLURM_STEP_ID=0\0B=2\0", True),
        (b"SLURM_STEP_ID=12", True),
        (b"PMIX_RANK=0\0", True),
        (b"OMPI_COMM_WORLD_RANK=3\0", True),
        # A batch script of 26.05: a start that Slurm refused was taken for one that runs.
        (b"SLURM_STEPID=-5\0SLURM_STEP_ID=-5\0", False),
        (b"SLURM_STEP_ID=4294967290\0", False),  # an interactive step
        (b"OUR_SLURM_STEP_ID=1\0", False),
        (b"", False),
    ],
)
def test_which_processes_are_ranks_of_a_launcher(environment: bytes, rank: bool) -> None:
    assert is_rank(environment) is rank
