"""Resources and operations of users' own: declared with handlers, and checked as the built-in ones are."""

from __future__ import annotations

import pytest

from whesl import language
from whesl.language.diagnostics import Severity
from whesl.language.result import Result
from whesl.language.tools import formatting, sentences

TEXT = """\
DECLARE ENTITY JOB
DECLARE EXCEPTION_TYPE JOB_LEVEL
{declared}
DECLARE EXCEPTION E JOB_LEVEL JOB [*]
EXCEPTION DETECTION E EXTERNAL
EXCEPTION RECOVERY STEP E JOB {step}
"""
OWN = 'DECLARE RESOURCE LICENSE[ADD, RENEW HANDLER "renew", REPLACE] HANDLER "./licence"'


def checked(declared: str, step: str) -> Result:
    return language.parse(TEXT.format(declared=declared, step=step), "t.esl")


def errors(declared: str, step: str) -> list[tuple[str, str, str]]:
    found = checked(declared, step).diagnostics
    return [(d.code, d.message, d.hint) for d in found if d.severity is Severity.ERROR]


def test_they_are_in_the_specification_with_their_handlers() -> None:
    result = checked(OWN, 'LICENSE.RENEW {"seats": [1, null]}')
    assert result.diagnostics == () or not errors(OWN, "LICENSE.RENEW")
    assert result.spec is not None
    assert [result.spec.handler("LICENSE", name) for name in ("ADD", "RENEW", "REPLACE", "NONE")] == [
        "./licence",
        "renew",
        "./licence",
        None,
    ]
    (step,) = result.spec.exceptions[0].steps
    assert (step.resource, step.operation, step.arguments) == ("LICENSE", "RENEW", {"seats": [1, None]})
    said = str(list(sentences.explain(result.spec)))
    assert "JOB: LICENSE.RENEW by your handler renew" in said
    assert "raises it from outside" in said


def test_one_handler_behind_the_bracket_is_for_built_in_resources_too() -> None:
    result = checked('DECLARE RESOURCE NODE[ADD, REPLACE HANDLER "r", RESET] HANDLER "h"', "NODE.RESET")
    assert result.spec is not None
    assert [result.spec.handler("NODE", name) for name in ("ADD", "REPLACE", "RESET")] == ["h", "r", "h"]


@pytest.mark.parametrize(
    ("declared", "step", "code", "said", "hint"),
    [
        ("DECLARE RESOURCE LICENSE[ADD]", "LICENSE.ADD", "ESL022", "LICENSE is not a resource", "HANDLER"),
        ("DECLARE RESOURCE NOED[ADD]", "NODE.ADD", "ESL022", "NOED is not a resource", "NODE"),
        ("DECLARE RESOURCE NODE[RESET]", "NODE.RESET", "ESL023", "RESET is not an operation", "HANDLER"),
        (OWN, "LICENSE.RENW", "ESL023", "RENW is not an operation", "RENEW"),
        (OWN, "LICENSE.REMOVE", "ESL023", "REMOVE is not an operation", ""),
        (OWN, "LICENCE.ADD", "ESL022", "LICENCE is not a resource", "LICENSE"),
        (OWN, "NODE.REPLACE", "ESL032", "the resource NODE is not declared", "NODE[REPLACE]"),
        (OWN, 'LICENSE.ADD {"handler_timeout": "x"}', "ESL072", "'handler_timeout' takes a number", ""),
        (OWN, 'LICENSE.ADD {"handler_timeout": 0}', "ESL073", "'handler_timeout'", ""),
        (OWN, 'LICENSE.ADD {"a": "${nobody}"}', "ESL074", "captures nobody", ""),
        (f"{OWN}\n{OWN}", "LICENSE.ADD", "ESL026", "LICENSE is declared twice", "one statement"),
        ('DECLARE RESOURCE X[A, A] HANDLER "h"', "X.A", "ESL027", "A is declared twice", ""),
        ('DECLARE RESOURCE X[A] HANDLER " "', "X.A", "ESL047", "the handler is empty", ""),
        ('DECLARE RESOURCE WMS[A] HANDLER "h"', "WMS.A", "ESL022", "WMS is not a resource", "an entity"),
        ('DECLARE RESOURCE ADD[A] HANDLER "h"', "ADD.A", "ESL022", "ADD is not a resource", "an operation"),
    ],
)
def test_what_is_wrong_is_said_once(declared: str, step: str, code: str, said: str, hint: str) -> None:
    found = errors(declared, step)
    assert [one[0] for one in found].count(code) == 1, found
    message, told = next((one[1], one[2]) for one in found if one[0] == code)
    assert said in message and hint in told
    assert {one[0] for one in found} == {code}, found


def test_what_a_broken_declaration_may_have_declared_is_not_called_unknown() -> None:
    found = errors('DECLARE RESOURCE LICENSE ADD] HANDLER "h"', "LICENSE.ADD")
    assert [code for code, _, _ in found] == ["ESL010"]


def test_the_layout_keeps_it() -> None:
    text = TEXT.format(declared=OWN, step="LICENSE.RENEW")
    laid_out = formatting.layout(text.encode(), "t.esl")
    assert laid_out.text is not None and laid_out.text == text
