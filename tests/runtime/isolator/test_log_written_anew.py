"""A program that reads its log, writes it anew and moves it into place: its old lines are no news."""

from __future__ import annotations

from tests.runtime.isolator.bench import Bench, bench

__all__ = ["bench"]

RULES = """\
DECLARE EXCEPTION CRASH JOB_LEVEL JOB [*] LIMIT 3
EXCEPTION DETECTION CRASH LOG "solver failed" file "run.log"
EXCEPTION RECOVERY STEP CRASH JOB JOB.REPLACE
"""
PROGRAM = """\
(cat run.log; echo "begun $WHESL_RESTART_COUNT") > run.log.new
mv run.log.new run.log
[ "$WHESL_RESTART_COUNT" = 0 ] || exit 0
(cat run.log; echo "solver failed") > run.log.new
mv run.log.new run.log
sleep 600
"""


def test_a_restarted_program_that_moves_its_old_lines_into_place_is_well(bench: Bench) -> None:
    (bench.place / "run.log").write_text("solver failed before\n")
    assert bench.run(*bench.script(PROGRAM), options=("-e", bench.rules(RULES)))[0] == 0
    (raised,) = bench.raised()
    assert raised["evidence"][-1]["line"] == "solver failed"
