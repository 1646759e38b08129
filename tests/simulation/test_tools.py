"""What a person does with the simulation: run many seeds, replay one, see what is left of a failing one."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from tests.simulation.__main__ import main
from tests.simulation.mutations import budget_not_counted, fence_not_awaited
from tests.simulation.scenario import draw
from tests.simulation.shrink import shrunk
from tests.simulation.system import play
from tests.simulation.world import InvariantError


def test_many_seeds_end_with_how_many_held(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--seeds", "6", "--first", "40", "--processes", "1"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("6 of 6 seeds held, ")


@pytest.mark.slow
def test_interrupted_twice_it_still_ends_in_order() -> None:
    words = (sys.executable, "-m", "tests.simulation", "--seeds", "1000000", "--processes", "1")
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as soak:
        assert soak.stdout is not None
        try:
            soak.stdout.readline()
            soak.send_signal(signal.SIGINT)
            # The first one ended the pool at times: the test then read the end of a soak that was over on.
            assert any(line.startswith("interrupted: ") for line in soak.stdout)
            soak.send_signal(signal.SIGINT)
            said, _ = soak.communicate(timeout=60)
        finally:
            soak.kill()
    assert soak.returncode == 130
    assert " seeds held, " in said.splitlines()[-1]


def test_a_seed_is_replayed_with_its_trace(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--seed", "3"]) == 0
    told = capsys.readouterr().out
    assert "program 1 starts on" in told
    assert told.splitlines()[-1] == "seed 3 held"


def test_a_failing_seed_is_shrunk_and_named(capsys: pytest.CaptureFixture[str]) -> None:
    with budget_not_counted():
        seed = next(seed for seed in range(200) if fails(seed))
        assert main(["--seed", str(seed)]) == 1
    told = capsys.readouterr().out.splitlines()
    assert told[0].startswith(f"seed {seed} shrunk in ")
    assert told[-1].startswith(f"seed {seed}: budgets kept: ")


def fails(seed: int) -> bool:
    try:
        play(draw(seed))
    except InvariantError:
        return True
    return False


def test_what_is_left_breaks_the_same_and_is_less() -> None:
    with fence_not_awaited():
        seed = next(seed for seed in range(50) if fails(seed) and len(draw(seed).tasks) > 1)
        scenario = draw(seed)
        with pytest.raises(InvariantError) as whole:
            play(scenario)
        smaller, _ = shrunk(scenario, whole.value.invariant)
        with pytest.raises(InvariantError) as left:
            play(smaller)
    assert left.value.invariant == whole.value.invariant
    assert len(smaller.tasks) == 1
    assert not smaller.outages
