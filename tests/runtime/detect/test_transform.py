"""Counting and transformation of exceptions."""

import msgspec
import pytest

from tests.runtime.detect.build import SPAN, TASK, exception, spec
from whesl.language.detections.external_and_counted import CountDetection
from whesl.language.spec import ExceptionSpec, Spec
from whesl.model.evidence import History
from whesl.runtime.detect.exception_transformation import Transformed, transform


def counted(
    name: str, of: str, times: int, within: float | None = None, jobs: tuple[str, ...] = ("*",)
) -> ExceptionSpec:
    rule = CountDetection(exception=of, times=times, within=within, span=SPAN)
    return exception(name, rule, jobs=jobs)


def run(rules: Spec, events: list[tuple[str, float]]) -> list[Transformed]:
    history, results = History(), []
    for name, now in events:
        result = transform(rules, TASK, history, name, now)
        # As the journal keeps it.
        history = msgspec.json.decode(msgspec.json.encode(result.history), type=History)
        results.append(result)
    return results


def test_the_third_becomes_the_higher_one_and_the_count_starts_anew() -> None:
    rules = spec(exception("CRASH"), counted("BROKEN", "CRASH", 3))
    names = [result.exception for result in run(rules, [("CRASH", t) for t in range(7)])]
    assert names == ["CRASH", "CRASH", "BROKEN", "CRASH", "CRASH", "BROKEN", "CRASH"]


def test_within_a_sliding_window() -> None:
    rules = spec(exception("CRASH"), counted("BROKEN", "CRASH", 2, within=10))
    times = [0.0, 10.5, 20.0, 30.0, 41.0]
    names = [result.exception for result in run(rules, [("CRASH", t) for t in times])]
    assert names == ["CRASH", "CRASH", "BROKEN", "CRASH", "CRASH"]


def test_a_window_includes_its_edge() -> None:
    rules = spec(exception("CRASH"), counted("BROKEN", "CRASH", 2, within=10))
    assert run(rules, [("CRASH", 0.0), ("CRASH", 10.0)])[-1].exception == "BROKEN"


def test_chains_and_what_they_went_through() -> None:
    rules = spec(exception("X"), counted("Y", "X", 1), counted("Z", "Y", 2))
    first, second = run(rules, [("X", 0), ("X", 1)])
    assert (first.exception, first.origins) == ("Y", ("X",))
    assert (second.exception, second.origins) == ("Z", ("X", "Y"))
    assert second.detail == "X 1 times is Y, Y 2 times is Z"


def test_a_cycle_ends() -> None:
    rules = spec(counted("X", "Y", 1), counted("Y", "X", 1))
    (result,) = run(rules, [("X", 0)])
    assert (result.exception, result.origins) == ("Y", ("X",))


def test_two_rules_count_independently_and_the_first_wins() -> None:
    rules = spec(exception("X"), counted("Y", "X", 2), counted("Z", "X", 3))
    names = [result.exception for result in run(rules, [("X", t) for t in range(6)])]
    assert names == ["X", "Y", "Z", "Y", "X", "Y"]


@pytest.mark.parametrize(("jobs", "final"), [(("solve",), "Y"), (("solve_?",), "Y"), (("other",), "X")])
def test_only_rules_of_this_task_count(jobs: tuple[str, ...], final: str) -> None:
    rules = spec(exception("X"), counted("Y", "X", 1, jobs=jobs))
    assert run(rules, [("X", 0)])[0].exception == final


def test_history_is_bounded() -> None:
    rules = spec(exception("X"), counted("X", "X", 2), counted("Y", "X", 1000))
    result = run(rules, [("X", float(t)) for t in range(50)])[-1]
    assert sum(map(len, result.history.counts.values())) <= 52
