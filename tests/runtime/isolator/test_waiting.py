"""An isolator that waits, for a person, a back-off or the coordinator, leaves the processor to others."""

from __future__ import annotations

import time

import psutil
import pytest

from tests.runtime.isolator.bench import Bench, bench, until

__all__ = ["bench"]  # a fixture

RULES = """\
DECLARE EXCEPTION CRASH JOB_LEVEL JOB [app] {limit}
EXCEPTION DETECTION CRASH LOG "it broke" stdout
EXCEPTION RECOVERY STEP CRASH JOB JOB.REPLACE
"""
# Each look at a path that nobody reads any more is due after one second.
WATCHED = 4.0


@pytest.mark.parametrize(
    ("limit", "kind"), [("LIMIT 1 ELSE PAUSE", "paused"), ("LIMIT 3 BACKOFF 60", "relaunched")]
)
def test_what_waits_takes_no_processor(bench: Bench, limit: str, kind: str) -> None:
    # Words that come while it is killed are read by nobody.
    program = bench.script("trap 'echo once more' TERM\necho it broke\nsleep 60 & wait\nsleep 60 & wait\n")
    rules = bench.rules(RULES.format(limit=limit))
    bench.exec(*program, options=("--step", "app", "-e", rules))
    until(lambda: kind in bench.kinds(), kind)
    isolator = psutil.Process(bench.isolator())
    kinds, before = bench.kinds(), isolator.cpu_times()
    time.sleep(WATCHED)
    after = isolator.cpu_times()
    assert bench.kinds() == kinds, "it waits no more"
    assert after.user + after.system - before.user - before.system < WATCHED / 4
