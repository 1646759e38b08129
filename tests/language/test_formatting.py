"""The canonical layout: idempotent, nothing lost, nothing means anything else."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.alike import examples
from tests.language.corpus import EXAMPLES, PRINTED, big, specifications
from tests.language.test_printed import meaning
from whesl import language
from whesl.language import library
from whesl.language.tools import formatting
from whesl.language.tools.formatting import WIDTH, layout


def formatted(text: bytes | str) -> str:
    result = layout(text, "t.esl")
    assert result.text is not None, [d.message for d in result.findings.diagnostics]
    return result.text


def stable(text: bytes | str) -> str:
    """Return the layout, which is its own layout and means what the text means."""
    once = formatted(text)
    assert formatted(once) == once
    before, after = language.parse(text, "t.esl"), language.parse(once, "t.esl")
    assert [d.code for d in before.diagnostics] == [d.code for d in after.diagnostics]
    if before.spec is not None:
        assert after.spec is not None
        assert meaning(after.spec) == meaning(before.spec)
    return once


@given(specifications())
@settings(max_examples=examples(30), deadline=None)
@pytest.mark.costly
def test_any_specification(text: str) -> None:
    once = stable(text)
    assert not re.search(r"[ \t]$|\n\n\n|\t|\r", re.sub(r'"[^"\n]*"|#.*', '""', once), re.MULTILINE)
    assert once.endswith("\n")


@given(specifications(), st.integers(0, 2**32).map(random.Random))
@settings(max_examples=examples(30), deadline=None)
@pytest.mark.costly
def test_comments_everywhere(text: str, chance: random.Random) -> None:
    """A comment may end any line, also inside brackets, where lines may be cut anywhere."""
    changed, depth, at = "", 0, 0
    for match in re.finditer(r'\{(?:[^{}"]|"[^"]*"|\{[^{}]*\})*\}|"[^"\n]*"|#[^\n]*|[\[\],]', text):
        bracket = match.group()
        depth += {"[": 1, "]": -1}.get(bracket, 0)
        changed += text[at : match.start()]
        at = match.end()
        # A name such as DECLARE would begin a statement if it began a line.
        free = not re.match(r"\s*\\?\s*(DECLARE|EXCEPTION|INCLUDE)(?![\w-])", text[at:])
        if bracket in "[,]" and free and (depth or bracket == "]") and chance.random() < 0.5:
            before = chance.choice(["", " ", "\n", "\n\n"])
            after = chance.choice(["", "\n\n"])
            note = f"{before}# note {match.start()}{after}\n"
            changed += f"{note}{bracket}" if bracket == "]" else f"{bracket}{note}"
        else:
            changed += bracket
    changed += text[at:]
    once = stable(changed)
    notes = re.findall(r"# note \d+", changed)
    assert re.findall(r"# note \d+", once) == notes


@pytest.mark.parametrize("name", PRINTED)
def test_the_printed_ones(name: str) -> None:
    stable(EXAMPLES[name])


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_are_in_their_layout(name: str) -> None:
    if name not in PRINTED:  # which stay as they were printed
        assert stable(EXAMPLES[name]) == EXAMPLES[name]


@pytest.mark.parametrize("name", library.names())
def test_libraries_are_in_their_layout(name: str) -> None:
    content = library.place(name).read_bytes()
    assert formatted(content).encode() == content


UGLY = """\
\ufeff
# first\t

   # second


DECLARE   ENTITY WMS ,JOB   # who
DECLARE EXCEPTION_TYPE\tJOB_LEVEL,WORKFLOW_LEVEL
DECLARE RESOURCE NODE [ ADD,REPLACE   HANDLER "x" ]
DECLARE RESOURCE JOB[ # what
  REPLACE
  ]
DECLARE EXCEPTION E WORKFLOW_LEVEL JOB [ run . 1,"a b" , * ] LIMIT 3 \\
   WITHIN 60 ELSE ESCALATE


EXCEPTION DETECTION E EXIT CODE 1,3 - 5
EXCEPTION DETECTION E DISK "/a" ABOVE 90.5 %
EXCEPTION RECOVERY STEP E JOB NODE . REPLACE {"a":[1,2.50,{"b" :null}],"c":{ }}
EXCEPTION RECOVERY STEP E JOB JOB.REPLACE { "command" : [ "./run" , "a\\u00e4\\"b" ] , \\
  "environment": {"A_LONG_NAME":"and a long value", "ANOTHER_LONG_NAME": "and another one", "X":""}}# end"""
NEAT = """\
# first

# second

DECLARE ENTITY WMS, JOB  # who
DECLARE EXCEPTION_TYPE JOB_LEVEL, WORKFLOW_LEVEL
DECLARE RESOURCE NODE[ADD, REPLACE HANDLER "x"]
DECLARE RESOURCE JOB[
    # what
    REPLACE
]
DECLARE EXCEPTION E WORKFLOW_LEVEL JOB [run.1, "a b", *] LIMIT 3 WITHIN 60 ELSE ESCALATE

EXCEPTION DETECTION E EXIT CODE 1, 3-5
EXCEPTION DETECTION E DISK "/a" ABOVE 90.5%
EXCEPTION RECOVERY STEP E JOB NODE.REPLACE {"a": [1, 2.50, {"b": null}], "c": {}}
EXCEPTION RECOVERY STEP E JOB JOB.REPLACE {
    "command": ["./run", "a\\u00e4\\"b"],
    "environment": {
        "A_LONG_NAME": "and a long value",
        "ANOTHER_LONG_NAME": "and another one",
        "X": ""
    }
}  # end
"""


def test_how_it_looks() -> None:
    ugly = UGLY.replace("run . 1", "run.1")  # a name has no blanks
    assert formatted(ugly) == NEAT
    assert formatted(ugly.replace("\n", "\r\n").encode()) == NEAT


def test_long_statements() -> None:
    jobs = ", ".join(f"job-number-{number}" for number in range(12))
    once = stable(f"DECLARE EXCEPTION E JOB_LEVEL JOB [{jobs}] LIMIT 3\n")
    assert once.splitlines()[:2] == ["DECLARE EXCEPTION E JOB_LEVEL JOB [", "    job-number-0,"]
    assert once.splitlines()[-2:] == ["    job-number-11", "] LIMIT 3"]
    name = "A" * 60
    assert stable(f'EXCEPTION DETECTION {name} LOG "{"x" * 40}" stdout\n') == (
        f'EXCEPTION DETECTION {name} \\\n    LOG "{"x" * 40}" stdout\n'
    )
    declared = stable(f"DECLARE EXCEPTION {name} JOB_LEVEL JOB [a] LIMIT 3 WITHIN 60 BACKOFF 10 ELSE PAUSE\n")
    assert declared == (
        f"DECLARE EXCEPTION {name} JOB_LEVEL JOB [a] \\\n    LIMIT 3 WITHIN 60 BACKOFF 10 ELSE PAUSE\n"
    )
    assert max(map(len, declared.splitlines())) <= WIDTH


def test_comments_in_a_list() -> None:
    text = "DECLARE EXCEPTION E JOB_LEVEL JOB [a # one\n, # two\n\n# three\nb, c\n# four\n] # five\n"
    assert stable(text) == (
        "DECLARE EXCEPTION E JOB_LEVEL JOB [\n    a,  # one\n    # two\n    # three\n    b,\n    c\n"
        "    # four\n]  # five\n"
    )


def test_names_that_would_begin_a_statement_never_begin_a_line() -> None:
    names = ["DECLARE", *(f"job-number-{number}" for number in range(9)), "EXCEPTION", "b", "INCLUDE.x"]
    once = stable(f"DECLARE EXCEPTION E JOB_LEVEL JOB [{', '.join(names)}]\n")
    assert once.startswith("DECLARE EXCEPTION E JOB_LEVEL JOB [DECLARE,\n    job-number-0,\n")
    assert once.endswith("    job-number-8\n    , EXCEPTION,\n    b\n    , INCLUDE.x\n]\n")
    stable("DECLARE EXCEPTION E JOB_LEVEL JOB [a # one\n, DECLARE # two\n, EXCEPTION, b # three\n]\n")


def test_arguments_that_are_no_json_stay() -> None:
    text = 'EXCEPTION RECOVERY STEP E JOB NODE.ADD {"count":1,}\n'
    assert formatted(text) == text


@pytest.mark.parametrize("text", ["", "\n \n", "# only\n", "# only", "\\\n# only"])
def test_nothing_to_lay_out(text: str) -> None:
    assert stable(text) == ("# only\n" if "only" in text else "")


@pytest.mark.parametrize(
    "text", ["DECLARE ENTITTY JOB\n", 'EXCEPTION DETECTION A LOG "x\n', b"\xff\n", b"a\0"]
)
def test_broken_syntax_is_not_touched(text: bytes | str) -> None:
    result = layout(text, "t.esl")
    assert result.text is None
    assert result.findings.diagnostics


def test_wrong_meaning_is_laid_out_all_the_same() -> None:
    assert formatted("EXCEPTION  DETECTION NOBODY EXIT CODE 1") == "EXCEPTION DETECTION NOBODY EXIT CODE 1\n"


def test_a_defect_here_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formatting, "_render", lambda _: "DECLARE ENTITY JOB\n")
    with pytest.raises(RuntimeError, match="would change its meaning"):
        layout("DECLARE ENTITY WMS\n", "t.esl")


def test_a_large_file() -> None:
    stable(big(60))
