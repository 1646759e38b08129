"""Silence that counts only while a signal has stopped some ranks and others run: with real processes."""

from __future__ import annotations

import pytest

from tests.runtime.isolator.bench import Bench, bench

__all__ = ["bench"]

RULES = """\
DECLARE EXCEPTION STILL JOB_LEVEL JOB [app] LIMIT 1
EXCEPTION DETECTION STILL SILENCE TIMEOUT 1 STOPPED
EXCEPTION RECOVERY STEP STILL JOB JOB.REPLACE
"""
# What is stopped before it runs its program is a copy of the script, and has no variable of a rank.
SCRIPT = """\
[ $WHESL_RESTART_COUNT = 0 ] || exit 0
PMI_RANK=0 sleep 600 & first=$!
PMI_RANK=1 sleep 600 & second=$!
for rank in $first $second; do until [ "$(cat /proc/$rank/comm)" = sleep ]; do sleep 0.01; done; done
%s
sleep 2.5
kill -KILL $first $second
"""


def test_a_stopped_rank_for_which_another_one_waits_is_found(bench: Bench) -> None:
    script = bench.script(SCRIPT % "kill -STOP $second; wait")
    assert bench.run(*script, options=("-e", bench.rules(RULES)))[0] == 0
    (raised,) = bench.raised()
    silence, stuck = raised["evidence"]
    assert (silence["kind"], stuck["kind"]) == ("stopped", "stuck")
    assert stuck["detail"].startswith("stopped (state T): sleep (") and stuck["detail"] in silence["detail"]


@pytest.mark.parametrize("stopped", ["", "kill -STOP $first $second", "sleep 600 & kill -STOP $!"])
def test_who_thinks_long_is_not_taken_for_stopped(bench: Bench, stopped: str) -> None:
    """Nor is a job of which somebody has stopped all ranks, or a helper of its script that is no rank."""
    assert bench.run(*bench.script(SCRIPT % stopped), options=("-e", bench.rules(RULES)))[0] == 0
    assert not bench.raised()
