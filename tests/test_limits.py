"""Limits of tests are reached by what hangs, and not by a machine that does other things."""

from __future__ import annotations

import subprocess

import pytest

from tests import limits
from whesl.testing.waiting import busy


def test_a_busy_machine_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A limit counts as often as there are processes for each core, and three times at least."""
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    monkeypatch.setattr("os.getloadavg", lambda: (24.0, 0.0, 0.0))
    assert busy() == 12
    monkeypatch.setattr("os.getloadavg", lambda: (0.1, 0.0, 0.0))
    assert busy() == 3


@pytest.mark.costly
@pytest.mark.parametrize(("load", "ends"), [(0.0, False), (20.0, True)])
def test_what_ends_late_is_waited_for_while_the_machine_is_busy(
    load: float, ends: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "_LONG", 0.05)
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    monkeypatch.setattr("os.getloadavg", lambda: (1000.0 * load, 0.0, 0.0))
    words = ["sh", "-c", "cat; sleep 1; echo late"] if ends else ["sleep", "30"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as late:
        try:
            if ends:
                assert late.communicate("given\n", timeout=0.1)[0] == "given\nlate\n"
                assert late.wait(timeout=0.1) == 0
            else:
                with pytest.raises(subprocess.TimeoutExpired):
                    late.communicate(timeout=0.1)
        finally:
            late.kill()
