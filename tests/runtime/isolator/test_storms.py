"""A program that prints one matching line after the other: what is written down of it stays small."""

from __future__ import annotations

import signal
import subprocess

import pytest

from tests.runtime.isolator.bench import Bench, bench, until
from tests.runtime.isolator.conftest import World, count_detection, exception, found, make_setup
from whesl.runtime.isolator.core.events_and_commands import Detections

__all__ = ["bench"]

LINES = 100_000
STORM = f"yes 'An error occurred in MPI_Send' | head -n {LINES}"
FEW = 40  # records


@pytest.mark.parametrize("then", ["sleep 600", "exit 1"])
def test_a_storm_is_one_exception_whether_its_program_has_ended_or_not(bench: Bench, then: str) -> None:
    program = f'[ "$WHESL_RESTART_COUNT" = 1 ] && exit 0\n{STORM}\n{then}\n'
    assert bench.run(*bench.script(program), options=("-e", bench.rules()))[0] == 0
    (raised,) = bench.raised()
    assert (raised["exception"], raised["evidence"][-1]["offset"]) == ("CRASH", 0)
    assert len(bench.records()) < FEW


def test_an_observed_storm_is_told_once_and_a_signal_is_heard(bench: Bench) -> None:
    program = f"{STORM}\ntouch printed\nexec sleep 600\n"
    options = ("-e", bench.rules(), "--observe", "--step", "app")
    child = bench.exec(*bench.script(program), options=options, stdout=subprocess.DEVNULL)
    until((bench.place / "printed").exists, "the last line")
    until(lambda: "observed" in bench.kinds(), "the exception")
    child.send_signal(signal.SIGTERM)
    assert child.wait(30) == -signal.SIGTERM
    assert len(bench.records()) < FEW


def test_what_is_counted_in_a_storm_is_one_record_for_all_that_was_read_at_once() -> None:
    higher = exception("HIGHER", detections=(count_detection("CRASH", 300),))
    world = World(make_setup(exception(), higher, observe=True))
    world.start()
    before = len(world.records)
    world.feed(Detections(attempt=1, found=(found(),) * 1000))
    assert sorted(world.state.observed) == ["CRASH", "HIGHER"]
    # 3 times 300, and 100 towards the next one.
    assert [len(times) for times in world.state.history.counts.values()] == [100]
    assert len(world.records) - before < 10
