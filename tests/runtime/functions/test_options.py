"""What options mean: their checks, the rules that they are, what an attempt changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import whesl
from tests.runtime.functions import samples
from whesl.language import checked as compiled
from whesl.language.tools.sentences import explain
from whesl.runtime.functions import function_process, rules
from whesl.runtime.functions.errors import FunctionDiedError, OutputMissingError
from whesl.runtime.functions.options import Options, checked, job_name, retried


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({"retry": 3}, TypeError, "no option 'retry': did you mean 'retry_on'"),
        ({"colour": 3}, TypeError, "no option 'colour': there are retry_on, retries"),
        ({"retries": -1}, ValueError, "at least 0"),
        ({"retries": True}, ValueError, "at least 0"),
        ({"retry_on": "OSError"}, TypeError, "names exceptions, not 'OSError'"),
        ({"silence": "10 min"}, TypeError, "a number of seconds"),
        ({"silence": 0.5}, ValueError, "silence is 1 s or more"),
        ({"no_progress": float("nan")}, ValueError, "no_progress is 1 s or more"),
        ({"inputs": 3}, TypeError, "inputs is paths, or a function that returns them, not 3"),
        ({"outputs": ["a", 3]}, TypeError, "outputs is paths"),
        ({"backoff": -1}, ValueError, "backoff is 0 s or more"),
        ({"attempts": {"arguments": {}}}, TypeError, "a list of dictionaries"),
        ({"attempts": [{"memory": "64G"}]}, TypeError, "for attempt 2: 'memory' cannot be changed"),
        ({"attempts": [{}, {"arguments": 3}]}, TypeError, "for attempt 3: arguments is a dictionary"),
        ({"attempts": [{"environment": {"A": 1}}]}, TypeError, "the variable A takes a text, not 1"),
    ],
)
def test_what_is_wrong_with_options_is_said_where_they_are_written(
    given: dict[str, Any], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        checked("solve", given)


def test_a_bare_function_is_never_called_twice() -> None:
    assert checked("solve", {}).retries == 0
    assert rules.specification(checked("solve", {})) == ""
    assert checked("solve", {"inputs": "in"}).retries == 0


@pytest.mark.parametrize(
    ("given", "retries", "retry_on"),
    [
        ({"retry_on": OSError}, 3, (OSError,)),
        ({"retries": 5}, 5, (Exception,)),
        ({"attempts": [{}, {}]}, 2, (Exception,)),
        ({"silence": 60}, 3, ()),
        ({"outputs": "out"}, 3, ()),
        ({"outputs": "out", "retries": 0}, 0, ()),
    ],
)
def test_how_often_and_after_what_a_function_is_called_again(
    given: dict[str, Any], retries: int, retry_on: tuple[type[BaseException], ...]
) -> None:
    options = checked("solve", given)
    assert (options.retries, options.retry_on) == (retries, retry_on)


def test_which_exceptions_are_followed_by_another_attempt() -> None:
    options = checked("solve", {"retry_on": (OSError, FunctionDiedError)})
    assert options.retries_deaths
    assert retried(options, FileNotFoundError())
    assert retried(options, OutputMissingError("out")), "what was promised is asked for by itself"
    assert not retried(options, KeyError())
    assert not checked("solve", {"retry_on": OSError}).retries_deaths
    assert not retried(Options(retry_on=(Exception,)), KeyError()), "no retries"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"retry_on": OSError}, "status 213"),
        ({"retries": 2}, "any failure"),
        ({"silence": 60, "retries": 0}, "prints nothing for 1 min"),
        ({"no_progress": 90, "backoff": 2.5}, "does not rise"),
        ({"attempts": [{"environment": {"A": 'b"${c}\n'}}, {"arguments": {"x": 1}}]}, "213"),
    ],
)
def test_options_are_sound_rules(given: dict[str, Any], said: str, tmp_path: Path) -> None:
    file = tmp_path / "rules.esl"
    file.write_text(rules.specification(checked("solve", given)))
    result = compiled(file)
    errors = [one for one in result.diagnostics if one.severity.value == "error"]
    assert result.spec is not None and not errors
    assert said in " ".join(one.text for each in explain(result.spec) for one in each.when)


@pytest.mark.parametrize(
    ("name", "job"),
    [("Shape.area", "Shape.area"), ("make.<locals>.inner", "inner"), ("make.<locals>.<lambda>", "lambda")],
)
def test_names_as_rules_may_write_them(name: str, job: str) -> None:
    assert job_name(name) == job


def _named(first: int, /, second: int = 2, *rest: int, third: int = 3, **further: int) -> None:
    """Have every kind of argument."""


@pytest.mark.parametrize(
    ("args", "kwargs", "changes", "expected"),
    [
        ((1,), {}, {}, ((1,), {})),
        ((1,), {}, {"second": 5}, ((1, 5), {})),
        ((1, 2), {}, {"second": 5, "first": 0}, ((0, 5), {})),
        ((1, 2, 9), {"third": 4}, {"third": 6}, ((1, 2, 9), {"third": 6})),
        ((1,), {"other": 1}, {"new": 2}, ((1,), {"other": 1, "new": 2})),
    ],
)
def test_arguments_are_changed_however_they_were_given(
    args: Any, kwargs: Any, changes: Any, expected: Any
) -> None:
    assert function_process.changed(_named, args, kwargs, changes) == expected


def test_an_argument_that_is_not_there_is_told_where_it_is_written() -> None:
    with pytest.raises(
        TypeError, match="for attempt 3: the function has no argument 'wat': did you mean 'what'"
    ):
        whesl.task(attempts=[{"arguments": {"what": 1}}, {"arguments": {"wat": 1}}])(samples.deeper)
    whesl.task(attempts=[{"arguments": {"new": 1, "first": 2}}])(_named)


def test_the_last_change_is_for_all_attempts_after_it() -> None:
    options = checked("solve", {"attempts": [{"arguments": {"n": 2}}, {"arguments": {"n": 1}}], "retries": 4})
    assert [options.changes(number, "arguments") for number in (1, 2, 3, 4)] == [
        {},
        {"n": 2},
        {"n": 1},
        {"n": 1},
    ]
