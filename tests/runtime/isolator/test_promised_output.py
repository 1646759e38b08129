"""An exit with status 0 without what was promised is an exception."""

from __future__ import annotations

import pytest

from tests.runtime.isolator.bench import Bench, bench

__all__ = ["bench"]

RULES = """\
DECLARE EXCEPTION INCOMPLETE JOB_LEVEL JOB [*] LIMIT 1 ELSE FAIL
EXCEPTION DETECTION INCOMPLETE OUTPUT "made/*.nc" MISSING
EXCEPTION DETECTION INCOMPLETE OUTPUT "made/*.nc" EMPTY
EXCEPTION DETECTION INCOMPLETE OUTPUT "made/*.nc" OLDER THAN "input"
EXCEPTION DETECTION INCOMPLETE OUTPUT "$RUN/run.log" NOT MATCH "^Normal termination"
"""
ONLY_IF = """\
DECLARE EXCEPTION INCOMPLETE JOB_LEVEL JOB [*] ELSE FAIL
EXCEPTION DETECTION INCOMPLETE SUCCESS IF OUTPUT "out" NEWER THAN "input"
"""
AGAIN = "EXCEPTION RECOVERY STEP INCOMPLETE JOB JOB.REPLACE\n"
GOOD = "mkdir -p made; echo data > made/a.nc; echo Normal termination > run.log\n"
WRONG = {
    "missing": "rm made/a.nc",
    "empty": ": > made/b.nc",
    "older": "touch -d tomorrow input",
    "has no line that matches": "echo Error termination > run.log",
}


@pytest.mark.costly
@pytest.mark.parametrize("said", WRONG)
def test_a_broken_promise_is_recovered_from(bench: Bench, said: str) -> None:
    bench.environment["RUN"] = str(bench.place)
    breaks = f'[ "$WHESL_RESTART_COUNT" != 0 ] || {{ {WRONG[said]}; }}'
    script = f"rm -rf made; touch -d yesterday input; {GOOD}\n{breaks}\n"
    assert bench.run(*bench.script(script), options=("-e", bench.rules(RULES + AGAIN)))[0] == 0
    (raised,) = bench.raised()
    (evidence,) = raised["evidence"]
    assert evidence["kind"] == "output" and said in evidence["detail"]
    assert evidence["file"].startswith(f"{bench.place}/") and evidence["captures"]["file"] == evidence["file"]


def test_a_task_that_keeps_its_promises_completes(bench: Bench) -> None:
    bench.environment["RUN"] = str(bench.place)
    script = bench.script(f"touch -d yesterday input; {GOOD}")
    assert bench.run(*script, options=("-e", bench.rules(RULES)))[0] == 0
    assert bench.raised() == []


def test_without_a_step_the_task_has_failed(bench: Bench) -> None:
    bench.environment["RUN"] = str(bench.place)
    assert bench.run(*bench.script("exit 0\n"), options=("-e", bench.rules(RULES)))[0] == 1
    finished = bench.records()[-1][1]
    assert finished["state"] == "failed"
    assert "INCOMPLETE: " in finished["reason"] and "made/*.nc is missing" in finished["reason"]


def test_a_task_has_succeeded_only_if(bench: Bench) -> None:
    script = "touch -d yesterday out; touch input\n"
    assert bench.run(*bench.script(script), options=("-e", bench.rules(ONLY_IF)))[0] == 1
    assert "out is older than" in bench.records()[-1][1]["reason"]


def test_a_failed_task_promises_nothing(bench: Bench) -> None:
    bench.environment["RUN"] = str(bench.place)
    assert bench.run(*bench.script("exit 3\n"), options=("-e", bench.rules(RULES)))[0] == 3
    assert bench.raised() == []


def test_what_cannot_be_looked_at_is_told(bench: Bench) -> None:
    """A circle of links: root may read all that there is."""
    (bench.place / "round").symlink_to("round")
    rules = RULES.splitlines()[0] + '\nEXCEPTION DETECTION INCOMPLETE OUTPUT "round/x" MISSING\n'
    assert bench.run(*bench.script("exit 0\n"), options=("-e", bench.rules(rules)))[0] == 0
    assert bench.raised() == []
    assert "round/x could not be looked at" in bench.directory.summary.read_text()


def test_an_observed_task_is_left_alone(bench: Bench) -> None:
    bench.environment["RUN"] = str(bench.place)
    options = ("--observe", "-e", bench.rules(RULES + AGAIN))
    assert bench.run(*bench.script("exit 0\n"), options=options)[0] == 0
    (raised,) = bench.raised()
    assert raised["exception"] == "INCOMPLETE"
