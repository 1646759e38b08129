"""A trouble that a job survived is not what it died of, however its program tells of it."""

from __future__ import annotations

import pytest

from tests.runtime.diagnose.corpus.recipe import TRACE
from tests.runtime.diagnose.corpus.survived import WAYS, dead, well
from tests.runtime.diagnose.logs import told, why
from whesl.runtime.diagnose.vocabulary import Outcome

EACH = 10  # logs of each way and kind
STEPS = "".join(f"step {n} loss {3 - n / 1000:.3f}\n" for n in range(200))


@pytest.mark.parametrize("way", WAYS)
def test_a_job_that_ended_well(way: str) -> None:
    for n in range(EACH):
        log = well(f"{way} {n}", way)
        assert why(log.text).outcome is not Outcome.FAILED, log.text


@pytest.mark.parametrize("way", WAYS)
def test_a_job_that_died_of_something_else(way: str) -> None:
    for n in range(EACH):
        log = dead(f"{way} {n}", way)
        cls, line = told(log.text)
        assert cls == log.cls or line in log.deadly, log.text


@pytest.mark.parametrize("end", ["mesher: Finished simulation: exit code 0.", "regrid finished, exit 0"])
def test_a_status_of_zero_outweighs_an_exception_before_it_and_none_behind_it(end: str) -> None:
    raised = "\n".join([*TRACE, "tornado.iostream.StreamClosedError: Stream is closed\n"])
    assert why(f"the grid is read\n{raised}{end}\n").outcome is Outcome.ENDED_WELL
    assert why(f"the grid is read\n{end}\n{raised}").outcome is Outcome.FAILED
    assert why(f"the grid is read\n{raised}{end.replace('0', '1')}\n").outcome is Outcome.FAILED


def test_one_of_several_logs_without_the_others_end_has_not_ended_well() -> None:
    """Its own last words may be in no list; a job of which one rank alone tells the end has ended well."""
    good, open_end = STEPS + "Solver finished normally\n", STEPS + "halo: peer 29 gave up\n"
    assert why(good, good, good).outcome is Outcome.ENDED_WELL
    assert why(good, STEPS, STEPS).outcome is Outcome.ENDED_WELL
    assert why(good, good, "halo: 3 peers\n").outcome is Outcome.ENDED_WELL, "no log of work"
    assert why(good, open_end, good).outcome is Outcome.UNKNOWN
