"""Restarted is not recovered: what the journal says once the restarted attempt has gone past what had failed.

A study with a wrong ``mpirun`` line was once reported as "9 recovered in place", with minutes
and node-hours saved.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.runtime.isolator.bench import CRASH, Bench, bench
from tests.runtime.isolator.conftest import World, detect, exception, found, node_exception
from tests.runtime.isolator.test_core_nodes import four, replaces
from whesl.managers.resource.launcher_shims import COMMANDS
from whesl.model.launcher_programs import LAUNCHERS
from whesl.model.recovery_criterion import Reach, last_steps, seconds_past, went_past
from whesl.model.states import NodeState
from whesl.model.workflow import Task
from whesl.runtime.isolator.core.events_and_commands import NodeSeen, Reached
from whesl.runtime.isolator.core.task_setup import Setup
from whesl.runtime.isolator.nodes.program_start_detection import launches
from whesl.runtime.isolator.task.taskdir import Job

__all__ = ["bench"]

Make = Callable[..., World]


# The rule ---------------------------------------------------------------------------------------------


REACHES = st.builds(
    Reach,
    seconds=st.floats(0, 1e6),
    output=st.integers(-1, 10**12),
    progress=st.none() | st.floats(-1e9, 1e9),
)
KINDS = st.lists(st.sampled_from(["log", "exit", "hang", "progress", "node", "heartbeat", "stuck"])).map(
    tuple
)


@given(REACHES, KINDS)
def test_who_comes_as_far_as_before_has_not_gone_past(reach: Reach, kinds: tuple[str, ...]) -> None:
    if went_past(reach, kinds, reach):
        assert set(kinds) & {"node", "heartbeat", "stuck"}
        assert reach.seconds >= 60


@given(REACHES, KINDS, REACHES, st.floats(0, 1e6), st.integers(0, 10**9))
def test_who_has_gone_past_stays_so(
    failed: Reach, kinds: tuple[str, ...], now: Reach, seconds: float, output: int
) -> None:
    later = msgspec.structs.replace(now, seconds=now.seconds + seconds, output=now.output + output)
    if went_past(failed, kinds, now):
        assert went_past(failed, kinds, later)


@given(REACHES, KINDS)
def test_the_time_to_look_again_is_when_it_has(failed: Reach, kinds: tuple[str, ...]) -> None:
    assert went_past(
        msgspec.structs.replace(failed, progress=None), kinds, Reach(seconds=seconds_past(failed, kinds))
    )


@pytest.mark.parametrize(
    ("failed", "kinds", "now", "past"),
    [
        (Reach(seconds=0.2), ("exit",), Reach(seconds=3.0), False),  # a slow file system
        (Reach(seconds=100.0), ("exit",), Reach(seconds=134.9), False),
        (Reach(seconds=100.0), ("exit",), Reach(seconds=135.1), True),
        (Reach(seconds=36e3), ("node",), Reach(seconds=61.0), True),
        (Reach(seconds=36e3), ("log",), Reach(seconds=61.0), False),
        (Reach(seconds=5.0), ("heartbeat",), Reach(seconds=10.0), False),
        (Reach(seconds=1.0, output=900), ("log",), Reach(seconds=1.0, output=9000), False),
        (Reach(seconds=1.0, output=900), ("log",), Reach(seconds=1.0, output=20_000), True),
        (Reach(seconds=1.0), ("log",), Reach(seconds=1.0, output=20_000), False),
        (Reach(seconds=9.0, progress=40.0), ("progress",), Reach(seconds=9e3, progress=40.0), False),
        (Reach(seconds=9.0, progress=40.0), ("progress",), Reach(seconds=1.0, progress=41.0), True),
        (Reach(seconds=9, steps=(("step", 10),)), ("log",), Reach(seconds=9, steps=(("step", 11),)), True),
        (Reach(seconds=9, steps=(("step", 10),)), ("log",), Reach(seconds=9, steps=(("step", 10),)), False),
        (Reach(seconds=9, steps=(("step", 10),)), ("log",), Reach(seconds=9, steps=(("epoch", 11),)), False),
        (Reach(seconds=9.0, steps=(("step", 10),)), ("log",), Reach(seconds=9.0), False),
    ],
)  # fmt: skip
def test_what_is_past(failed: Reach, kinds: tuple[str, ...], now: Reach, past: bool) -> None:
    assert bool(went_past(failed, kinds, now)) == past


@pytest.mark.parametrize(
    ("line", "step"),
    [
        ("step 12: residual 3e-4", ("step", 12)),
        ("[n01] Time step = 7", ("time step", 7)),
        ("Epoch 3/90 loss 0.5", ("epoch", 3)),
        ("ITERATION #   44", ("iteration", 44)),
        ("{'loss': 2.1, 'learning_rate': 4.9e-05, 'epoch': 0.12}", ("epoch", 0.12)),
        ("{'loss': '2.1', 'epoch': '0.12'}", ("epoch", 0.12)),
        (
            "load: 100%|███| 4/4 [00:01<00:00]\n 4%|█  | 4/90 [00:01<00:20]\r 5%|█  | 5/90 [",
            ("step (of 90)", 5),
        ),
        ("12/90 [==>......] - ETA: 9s - loss: 0.5", ("step (of 90)", 12)),
        ("INFO - \x1b[31mglobal_step: \x1b[32m 10\x1b[39m loss: 8.1", ("global_step", 10)),
        ("time step: 0.002", None),
        ("a stepper 3", None),
        ("step 0.5 of the integrator", None),
        ("error in step 13", None),
    ],
)
def test_steps_as_programs_print_them(line: str, step: tuple[str, float] | None) -> None:
    found = dict(last_steps(["step 1", line, "nothing"]))
    assert found == dict([("step", 1), *([step] if step else [])])


@pytest.mark.parametrize(
    "form",
    [
        ("Epoch {0}/9", "  step {1}: loss 3"),
        ("Epoch {0} step {1}",),
        ("generation {0} begins", "batch {1}", "batch {1} is done"),
        ("Epoch {0}:  10%|█  | {1}/9 [00:01<00:09, 1.0it/s, v_num=0]",),
    ],
)
def test_of_nested_counters_the_outer_one_comes_first(form: tuple[str, ...]) -> None:
    """A run that crashed in each epoch, at lower steps than in the one before, was ended at its limit."""
    lines = [
        text.format(outer, inner)
        for outer in (1, 2)
        for inner in (1, 2, 3)
        for text in (form if inner == 1 else form[-1:])
    ]
    assert [number for _, number in last_steps([*lines, "Resuming from iteration 7"])] == [2, 3]


# What the isolator writes down ---------------------------------------------------------------------------


def test_a_restart_that_fails_again_is_no_recovery(world: Make) -> None:
    made = world(exception(limit=3))
    for _ in range(4):
        made.advance(0.3).exits(127, found("CRASH", "exit"))
    assert made.finished is not None
    assert made.kinds().count("confirmed") == 3
    assert "recovered" not in made.kinds()


def test_a_task_that_completes_is_recovered_from_the_last_one(world: Make) -> None:
    made = world(exception(limit=3))
    made.advance(0.3).exits(127, found("CRASH", "exit")).advance(0.3).exits(127, found("CRASH", "exit"))
    made.exits(0)
    assert made.last("recovered") == {
        "kind": "recovered",
        "ordinals": [2],
        "exceptions": ["CRASH"],
        "attempt": 3,
        "because": "the task completed",
    }
    assert made.kinds().index("recovered") < made.kinds().index("finished")


def test_one_that_runs_on_is_recovered_while_it_runs(world: Make) -> None:
    made = detect(world(exception()).advance(20), "CRASH")
    assert "recovered" not in made.advance(34).kinds()
    made.advance(2)
    assert made.last("recovered")["because"] == "it ran for 35 s, the failed attempt for 20 s"
    made.exits(0)
    assert made.kinds().count("recovered") == 1


def test_a_lost_node_is_past_after_a_minute(world: Make) -> None:
    made = world(node_exception(), **four()).advance(7200)
    replaces(made)
    word = found("NODEDOWN", "node", "n2")
    made.feed(NodeSeen(node="n2", state=NodeState.DOWN, reason="gone", source="agent", found=(word,)))
    assert "recovered" not in made.advance(59).kinds()
    assert made.advance(2).last("recovered")["exceptions"] == ["NODEDOWN"]


def test_captured_progress_decides(world: Make) -> None:
    made = world(exception())
    made.feed(Reached(reach=Reach(output=100, progress=40.0)))
    detect(made, "CRASH").advance(500)
    made.feed(Reached(reach=Reach(output=200, progress=40.0)))
    assert "recovered" not in made.kinds()
    made.feed(Reached(reach=Reach(output=200, progress=41.0)))
    assert made.last("recovered")["because"] == "its progress came to 41"


def test_a_restarted_isolator_goes_on_judging(world: Make) -> None:
    made = detect(world(exception()).advance(20), "CRASH").advance(10).restart()
    assert made.advance(30).kinds().count("recovered") == 1
    assert made.restart().advance(600).kinds().count("recovered") == 1


# With real processes -------------------------------------------------------------------------------------


WRONG = """\
DECLARE EXCEPTION ANYHOW JOB_LEVEL JOB [app] LIMIT 3
EXCEPTION DETECTION ANYHOW EXIT ANY
EXCEPTION RECOVERY STEP ANYHOW JOB JOB.REPLACE
"""


def test_a_launcher_is_found_in_a_script_that_an_interpreter_runs(tmp_path: Path) -> None:
    """Only WHESL's own scripts were read: else the shell counted as the program."""
    script = tmp_path / "app.sh"
    script.write_text("mpirun -n 4 ./app\n")
    os.mkfifo(tmp_path / "pipe")
    setup = Setup(task=Task(id="exec/app", step="app"), workflow="exec")
    assert frozenset(COMMANDS) <= LAUNCHERS, "each launcher that has a shim"
    known = (f"{name} app" for name in LAUNCHERS)
    for words in ("bash -e app.sh", str(script), "bash -c 'mpirun ./app'", *known):
        assert launches(Job(setup=setup, command=tuple(shlex.split(words)), workdir=str(tmp_path))), words
    for words in ("bash pipe missing x", str(tmp_path), "true"):
        assert not launches(Job(setup=setup, command=tuple(words.split()), workdir=str(tmp_path))), words


def test_a_command_that_is_wrong_recovers_from_nothing(bench: Bench) -> None:
    rules = ("-e", bench.rules(WRONG))
    # A launcher's name: else the script itself is the program, and is seen where the machine is busy.
    code, _, _ = bench.run(*bench.script("mpiexec.wrong -n 4 ./app\n"), options=(*rules, "--summary"))
    assert code == 127
    assert bench.kinds().count("relaunched") == 3
    assert "confirmed" not in bench.kinds(), "its program was never seen"
    assert "recovered" not in bench.kinds()
    assert "recovered" not in bench.directory.summary.read_text()
    assert "restarted" in bench.directory.summary.read_text()


def test_a_crash_that_is_overcome_is_recovered(bench: Bench) -> None:
    command = bench.script(
        'if [ "$WHESL_RESTART_COUNT" = 0 ]; then echo "An error occurred in MPI_Send"; exit 1; fi\n'
    )
    assert bench.run(*command, options=("-e", bench.rules(CRASH)))[0] == 0
    assert bench.kinds().count("recovered") == 1
    assert "recovered" in bench.directory.summary.read_text()


STEADY = """\
done=$(cat reached 2>/dev/null || echo 0)
for step in 1 2 3; do done=$((done + 1)); echo "step $done"; done
echo $done > reached
echo "An error occurred in MPI_Send"
sleep 600
"""


@pytest.mark.parametrize("advances", [True, False])
def test_a_run_that_advanced_between_its_crashes_is_told_so(bench: Bench, advances: bool) -> None:
    """Each attempt of a program that goes on from a checkpoint runs as long as the one before."""
    program = STEADY if advances else STEADY.replace("> reached", "> /dev/null")
    rules = bench.rules(CRASH.replace("JOB [app]", "JOB [*] LIMIT 2"))
    assert bench.run(*bench.script(program), options=("-e", rules))[0] != 0
    recovered = [data["because"] for kind, data in bench.records() if kind == "recovered"]
    ended = bench.records()[-1][1]["reason"]
    if advances:
        assert recovered == [f"it came to step {n + 3}, the failed attempt to {n}" for n in (3, 6)]
        assert "budget-spent: 2 recoveries, 2 of which went on past what had failed" in ended
    else:
        assert recovered == []
        assert "budget-spent: 2 recoveries" in ended and "went on" not in ended
