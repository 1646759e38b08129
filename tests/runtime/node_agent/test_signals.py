"""Signals to programs that may not handle them yet."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tests.waiting import until
from whesl.runtime.node_agent.fencing import attempt_signals
from whesl.runtime.node_agent.fencing.attempt_signals import FIRST_WAIT, LONGEST_WAIT, HeldSignal

LOADS = """\
import pathlib, signal, sys, time
place = pathlib.Path(sys.argv[1])
while not (place / "loaded").exists():
    time.sleep(0.02)
signal.signal(signal.SIGUSR1, lambda *_: (place / "told").touch())
(place / "ready").touch()
time.sleep(60)
"""


def test_a_program_is_sent_a_signal_as_soon_as_it_handles_it(tmp_path: Path) -> None:
    """It was lost when it came while the program loaded, and that went on with files that had been moved."""
    token = f"held-signal-{tmp_path.name}-1"
    environment = {"WHESL_ATTEMPT_TOKEN": token}
    with subprocess.Popen([sys.executable, "-c", LOADS, str(tmp_path)], env=environment) as program:
        try:
            until(lambda: Path(f"/proc/{program.pid}/environ").read_bytes(), "the program", 30)
            held = HeldSignal()
            sent: list[int] = []

            def send() -> int:
                sent.append(attempt_signals.signal_catching(token, None, 10))
                return sent[-1]

            held.hold(send, 0.0)
            held.poll(0.0)
            assert sent == [0] and program.poll() is None, "the default action of the signal would end it"
            (tmp_path / "loaded").touch()
            until((tmp_path / "ready").exists, "the handler", 30)
            assert held.due is not None
            held.poll(held.due)
            assert sent == [0, 1] and held.due is None
            until((tmp_path / "told").exists, "the signal", 30)
        finally:
            program.kill()


@given(st.integers(0, 40), st.booleans())
def test_a_held_signal_is_tried_less_and_less_often_until_it_has_arrived_or_nobody_is_left(
    tries: int, arrives: bool
) -> None:
    held, calls, now = HeldSignal(), 0, 5.0

    def send() -> int | None:
        nonlocal calls
        calls += 1
        if calls <= tries:
            return 0
        return 1 if arrives else None

    held.hold(send, now)
    waits = []
    while held.due is not None:
        waits.append(round(held.due - now, 6))
        held.poll((held.due + now) / 2 - 1e-6)  # too early
        now = held.due
        held.poll(now)
    assert calls == tries + 1
    assert waits[0] == 0 and waits[1:] == sorted(waits[1:])
    assert all(FIRST_WAIT <= wait <= LONGEST_WAIT for wait in waits[1:])
