"""One mistake is one finding: each token of whole specifications deleted, replaced, swapped, misspelled."""

from __future__ import annotations

import collections
import itertools
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.alike import examples
from tests.language.corpus import DETECT, DETECTIONS, EXAMPLES, HEADER, PRINTED
from whesl import language
from whesl.language.compiler.lexer import statements
from whesl.language.compiler.source import Source
from whesl.language.diagnostics import Diagnostic

WHOLE = """\
DECLARE ENTITY SCHEDULER, WMS, JOB
DECLARE EXCEPTION_TYPE JOB_LEVEL, WORKFLOW_LEVEL
DECLARE RESOURCE NODE[ADD, REMOVE, REPLACE]
DECLARE RESOURCE FILESYSTEM[REPLACE HANDLER "own.handler"]
DECLARE EXCEPTION OOM JOB_LEVEL JOB [sim, post-*] LIMIT 2 WITHIN 600 BACKOFF 5 ELSE FAIL
DECLARE EXCEPTION LOST WORKFLOW_LEVEL JOB ["my job"] ELSE ESCALATE OOM
EXCEPTION DETECTION OOM MATCH "oom-kill on (?P<node>\\w+)" stderr RECURRING 3 WITHIN 60
EXCEPTION DETECTION OOM EXIT CODE 9, 137-139
EXCEPTION DETECTION LOST MULTIPLE ["aa", MATCH "b+"] file "x/y.log" WITHIN 5
EXCEPTION DETECTION LOST DISK "/scratch" ABOVE 95%
EXCEPTION DETECTION LOST EXCEPTION OOM 3 TIMES WITHIN 100
EXCEPTION RECOVERY STEP OOM JOB NODE.REPLACE {"node": "${node}", "expires": 60}
EXCEPTION RECOVERY STEP LOST WMS NODE.ADD {"count": 1}
EXCEPTION RECOVERY STEP LOST JOB FILESYSTEM.REPLACE
"""
TEXTS = [WHOLE, *(EXAMPLES[name] for name in PRINTED)]
OTHERS = ("LOST", "JOB", "12", '"t"', ",", "]", "{}", "stdout", "EXCEPTION", "/a/b.c", '"', "{", "\n")
SIXTH = 6  # each place gets every sixth of them, and the five places behind it get the others
COSTLY = ("replaced", "inserted")  # there are many words to put in
MUTATIONS = ("deleted", "swapped", "misspelled", "case", "unquoted", "half a quote", *COSTLY)


def tokens(text: str) -> list[tuple[int, int, str]]:
    return [(x.start, x.end, x.text) for found in statements(Source(text, "t")) for x in found[:-1]]


def mutated(text: str, kind: str) -> Iterator[str]:
    """Yield a specification with each of its tokens changed in one way."""
    for at, ((start, end, word), (after, after_end, other)) in enumerate(itertools.pairwise(tokens(text))):
        before, rest = text[:start], text[end:]
        some = OTHERS[at % SIXTH :: SIXTH]
        if kind == "deleted":
            yield f"{before} {rest}"
        elif kind == "swapped" and "\n" not in (word, other):
            yield f"{before} {other} {text[end:after]} {word} {text[after_end:]}"
        elif kind == "misspelled" and word.isidentifier() and len(word) > 3:
            yield before + word[: len(word) // 2] + word[len(word) // 2 + 1 :] + rest
        elif kind == "case" and word.isidentifier() and len(word) > 3:
            yield before + word.swapcase() + rest
        elif kind == "unquoted" and word.startswith('"'):
            yield before + word[1:-1] + rest
            yield f"{before}'{word[1:-1]}'{rest}"
        elif kind == "half a quote" and word.startswith('"'):
            yield before + word[:-1] + rest
            yield before + word[1:] + rest
        elif kind == "replaced":
            yield from (f"{before} {put} {rest}" for put in some if put != word)
        elif kind == "inserted":
            yield from (f"{before} {put} {text[start:]}" for put in some)


def findings(text: str) -> tuple[Diagnostic, ...]:
    return language.parse(text, "t.esl").diagnostics


@pytest.mark.parametrize("text", TEXTS)
def test_what_is_mutated_is_sound(text: str) -> None:
    assert findings(text) == ()


# Of two statements that became one line with a word too many, both are told of: hence not all of them.
@pytest.mark.parametrize(
    ("kind", "share"),
    [pytest.param(kind, 0.99, marks=[pytest.mark.costly] * (kind in COSTLY)) for kind in MUTATIONS],
)
def test_one_token_wrong_is_one_finding(kind: str, share: float) -> None:
    counts: collections.Counter[int] = collections.Counter()
    # The largest text stands for all of them.
    for text in TEXTS[:1] if kind in COSTLY else TEXTS:
        counts.update(len(findings(changed)) for changed in mutated(text, kind))
    wrong = sum(n for found, n in counts.items() if found)
    assert wrong
    assert counts[1] >= share * wrong, counts
    assert max(counts) <= 2, counts


@given(st.data())
@settings(max_examples=examples(100), deadline=None)
def test_any_token_in_place_of_any_other(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(TEXTS))
    words = tokens(text)
    start, end, word = data.draw(st.sampled_from([w for w in words if w[2] != "\n"]))
    put = data.draw(st.sampled_from(sorted({w[2] for w in words if w[2] not in ("\n", word)})))
    assert len(findings(f"{text[:start]} {put} {text[end:]}")) <= 2


# The order ----------------------------------------------------------------------------------------

ORDERS = [
    ("DECLARE EXCEPTION A JOB [sim] JOB_LEVEL", "DECLARE EXCEPTION A JOB_LEVEL JOB [sim]"),
    ("DECLARE EXCEPTION JOB_LEVEL A JOB [sim]", "DECLARE EXCEPTION A JOB_LEVEL JOB [sim]"),
    ("DECLARE EXCEPTION JOB [sim] A JOB_LEVEL", "DECLARE EXCEPTION A JOB_LEVEL JOB [sim]"),
    ("DECLARE EXCEPTION A LIMIT 3 JOB_LEVEL JOB [s]", "DECLARE EXCEPTION A JOB_LEVEL JOB [s] LIMIT 3"),
    (
        "DECLARE EXCEPTION A JOB_LEVEL JOB [s] WITHIN 60 LIMIT 3",
        "DECLARE EXCEPTION A JOB_LEVEL JOB [s] LIMIT 3 WITHIN 60",
    ),
    ("DECLARE EXCEPTION A JOB_LEVEL [s] JOB", "DECLARE EXCEPTION A JOB_LEVEL JOB [s]"),
    ("DECLARE NODE[ADD] RESOURCE", "DECLARE RESOURCE NODE[ADD]"),
    ("DECLARE WMS, JOB ENTITY", "DECLARE ENTITY WMS, JOB"),
    ("ENTITY DECLARE WMS, JOB", "DECLARE ENTITY WMS, JOB"),
    ("EXCEPTION RECOVERY STEP E NODE.REPLACE JOB", "EXCEPTION RECOVERY STEP E JOB NODE.REPLACE"),
    ("EXCEPTION RECOVERY STEP JOB E NODE.REPLACE", "EXCEPTION RECOVERY STEP E JOB NODE.REPLACE"),
    ("EXCEPTION RECOVERY STEP JOB NODE.REPLACE E", "EXCEPTION RECOVERY STEP E JOB NODE.REPLACE"),
    ("EXCEPTION RECOVERY STEP E JOB REPLACE.NODE", "EXCEPTION RECOVERY STEP E JOB NODE.REPLACE"),
    ("EXCEPTION STEP RECOVERY E JOB NODE.REPLACE", "EXCEPTION RECOVERY STEP E JOB NODE.REPLACE"),
    (
        'EXCEPTION RECOVERY STEP E JOB {"count": 1} NODE.ADD',
        'EXCEPTION RECOVERY STEP E JOB NODE.ADD {"count": 1}',
    ),
    (f'{DETECT}stdout LOG "x" TIMEOUT 5', f'{DETECT}LOG "x" stdout TIMEOUT 5'),
    (f'{DETECT}TIMEOUT 5 LOG "x" stdout', f'{DETECT}LOG "x" stdout TIMEOUT 5'),
    (f'{DETECT}LOG stdout "x"', f'{DETECT}LOG "x" stdout'),
    (f'{DETECT}ABOVE 95% DISK "/a"', f'{DETECT}DISK "/a" ABOVE 95%'),
    (f"{DETECT}EXIT 9 CODE", f"{DETECT}EXIT CODE 9"),
    (f"{DETECT}DOWN NODE", f"{DETECT}NODE DOWN"),
    (f'{DETECT}"x" LOG stdout', f'{DETECT}LOG "x" stdout'),
    (f"{DETECT}3 TIMES EXCEPTION LOW", f"{DETECT}EXCEPTION LOW 3 TIMES"),
    (f"DETECTION EXCEPTION {DETECT.split()[2]} EXIT ANY", f"{DETECT}EXIT ANY"),
]


@pytest.mark.parametrize(("wrong", "right"), ORDERS)
def test_words_in_the_wrong_order(wrong: str, right: str) -> None:
    """The right order is said, and what stands there is taken as if it had been written so."""
    found = [d for d in findings(f"{HEADER}{wrong}\n") if d.line > HEADER.count("\n")]
    assert [(d.code, d.hint) for d in found if d.code not in ("ESL024", "ESL026", "ESL040")] == [
        ("ESL009", f"write: {right}")
    ]


PARTS = [
    *(f"{DETECT}{form}" for form in DETECTIONS),
    'DECLARE EXCEPTION A JOB_LEVEL JOB ["b c"] LIMIT 3 WITHIN 60 BACKOFF 5 ELSE PAUSE RAISE "a" SEVERITY 3',
    "DECLARE EXCEPTION A WORKFLOW_LEVEL JOB [sim] ELSE ESCALATE LOW",
    'EXCEPTION RECOVERY STEP E JOB NODE.REPLACE {"node": "n"}',
    "EXCEPTION RECOVERY STEP E DEPENDENT_JOB FILESYSTEM.ADD",
]


@pytest.mark.costly
@pytest.mark.parametrize("statement", PARTS)
def test_any_two_neighbours_swapped(statement: str) -> None:
    """Whatever order is proposed is correct."""
    words = [word for _, _, word in tokens(statement)]
    for number in range(len(words) - 1):
        order = [*words[:number], words[number + 1], words[number], *words[number + 2 :]]
        found = [d for d in findings(f"{HEADER}{' '.join(order)}\n") if d.line > HEADER.count("\n")]
        proposed = [d.hint.removeprefix("write: ") for d in found if d.code == "ESL009"]
        assert len(proposed) <= 1
        assert len([d for d in found if d.code < "ESL020"]) <= 1, order
        for text in proposed:
            after = findings(f"{HEADER}{text}\n")
            assert not [d for d in after if d.line > HEADER.count("\n") and d.code < "ESL020"], text


# What is said -------------------------------------------------------------------------------------

HINTS = [
    (f'{DETECT}DISK "/a" ABOVE 95', f'write: {DETECT}DISK "/a" ABOVE 95%'),
    (f'{DETECT}LOG "x" file /scratch/x.log', 'put the text in double quotes: "/scratch/x.log"'),
    (f'{DETECT}LOG "x" file x/y.log RECURRING 3', 'put the text in double quotes: "x/y.log"'),
    (f"{DETECT}LOG out of memory stdout", 'put the text in double quotes: "out of memory"'),
    (f"{DETECT}LOG 'out of memory' stdout", 'put the text in double quotes: "out of memory"'),
    (f'{DETECT}LOG "x" stdout TIMEOUT 5m', "times are seconds, written without a unit: 300"),
    (f'{DETECT}LOG "x" stdout TIMEOUT 1.5h', "times are seconds, written without a unit: 5400"),
    ("EXCEPTION RECOVERY E JOB NODE.ADD", "write: EXCEPTION RECOVERY STEP E JOB NODE.ADD"),
    ("EXCEPTION RECOVERY STEP E JOB NODE ADD", "write: EXCEPTION RECOVERY STEP E JOB NODE.ADD"),
    ("DECLARE EXCEPTION A JOB_LEVEL [a]", "write: DECLARE EXCEPTION A JOB_LEVEL JOB [a]"),
    ("DECLARE EXCEPTION A IS JOB_LEVEL JOB [a]", "leave out A or IS"),
    ("DECLARE ENTITY WMS,", "leave out ,"),
    ('{"count": 1}', "backslash"),
    ("RECOVERY STEP E JOB NODE.ADD", "write: EXCEPTION RECOVERY STEP E JOB NODE.ADD"),
    (f'{DETECT}DISK "/a" ABOVE 0.9', f'write: {DETECT}DISK "/a" ABOVE 90%'),
    (f'{DETECT}LOG "x" stdout TIMEOUT 10 minutes', "times are seconds, written without a unit: 600"),
    (f'{DETECT}LOG "x" stdout TIMEOUT 00:10:00', "times are seconds, written without a unit: 600"),
    (f'{DETECT}LOG "x" stdout TIMEOUT 10:00', "times are seconds, written without a unit"),
    (f'{DETECT}LOG "a" OR "b" stdout', 'for one of several texts write ANY ["a", "b"]'),
    (f'{DETECT}MULTIPLE "a", "b" stdout', f'write: {DETECT}MULTIPLE ["a", "b"] stdout'),
    (f"{DETECT}EXIT 1", "put CODE or SIGNAL before 1"),
    (f"{DETECT}EXIT CODE != 0", "the form is: EXIT ANY [EXCEPT CODE n, ...]"),
    (f"{DETECT}EXIT ANY EXCEPT 126, 127", f"write: {DETECT}EXIT ANY EXCEPT CODE 126, 127"),
    (f"{DETECT}EXIT ANY BUT 2", "write EXIT ANY EXCEPT CODE"),
    (f"{DETECT}HANG 300", "SILENCE TIMEOUT s watches all output"),
    (f"{DETECT}SIGNAL SIGSEGV", f"write: {DETECT}EXIT SIGNAL SIGSEGV"),
    ("DECLARE EXCEPTION A JOB_LEVEL JOB run", "write: DECLARE EXCEPTION A JOB_LEVEL JOB [run]"),
    ("DECLARE EXCEPTION A JOB [run]", "the form is: DECLARE EXCEPTION name type JOB [job, ...]"),
    ("DECLARE EXCEPTION A JOB_LEVEL JOB [a], LIMIT 3, ELSE FAIL", "no comma stands here"),
    ("DECLARE EXCEPTION A JOB_LEVEL JOB [a] RETRY 3", "LIMIT says how often an exception is recovered"),
    ("DECLARE EXCEPTION A JOB_LEVEL JOB [a] LIMIT=3", "values follow their word after a blank"),
    ("EXCEPTION RECOVERY STEP E NODE.ADD", "the form is: EXCEPTION RECOVERY STEP exception entity"),
    (
        "EXCEPTION RECOVERY STEP E JOB JOB.REPLACE LIMIT 4",
        "LIMIT stands in another statement: DECLARE EXCEPTION",
    ),
    (f"{DETECT}EXIT CODE 1 ELSE FAIL", "ELSE stands in another statement: DECLARE EXCEPTION"),
    (
        "DECLARE EXCEPTION A JOB_LEVEL JOB [a] TIMEOUT 9",
        "another statement: EXCEPTION DETECTION exception LOG",
    ),
    (f'{DETECT}LOG "x" stdout BEFORE FAILURE', "BEFORE stands in another statement: EXCEPTION RECOVERY STEP"),
    ("EXCEPTION RECOVERY STEP E JOB RESTART", "JOB.REPLACE does nothing else"),
    ("EXCEPTION RECOVERY STEP E JOB NODE.ADD(count=1)", 'arguments stand in braces: {"name": value}'),
    (
        'EXCEPTION RECOVERY STEP E JOB NODE.REPLACE {"node": $node}',
        'a placeholder stands in a text: "${name}"',
    ),
    ("// what is seen", "a comment begins with #"),
    ("-- what is seen", "a comment begins with #"),
]


@pytest.mark.parametrize(("text", "hint"), HINTS)
def test_what_was_meant(text: str, hint: str) -> None:
    (found, *others) = (d for d in findings(f"{HEADER}{text}\n") if d.line > HEADER.count("\n"))
    assert hint in found.hint
    assert {d.code for d in others} <= {"ESL040"}


def test_what_is_no_entity_or_type_is_what_is_wrong() -> None:
    """The grammar takes any word for one, and gives up behind it."""
    (found, *_) = (d for d in findings("DECLARE EXCEPTION A JOB [run]\n"))
    assert (found.column, found.expected) == (21, ("JOB_LEVEL", "WORKFLOW_LEVEL"))
    (found, *_) = (d for d in findings("EXCEPTION RECOVERY STEP E NODE.ADD\n"))
    assert (found.column, found.expected) == (27, ("SCHEDULER", "WMS", "JOB", "DEPENDENT_JOB"))


def test_findings_of_meaning_stand_beside_those_of_form() -> None:
    """A broken statement neither hides what is wrong with the others nor makes anything wrong with them."""
    text = """\
DECLARE ENTITY JOB
DECLARE EXCEPTION_TYPE JOB_LEVEL
DECLARE RESOURCE NODE[ADD, REPLACE]
DECLARE EXCEPTION OOM JOB [sim] JOB_LEVEL
DECLARE EXCEPTION CRASH JOB_LEVEL [sim]
EXCEPTION DETECTION OOM LOG oom-kill stdout
EXCEPTION DETECTION CRASH EXIT CODE 0
EXCEPTION DETECTION CRASH MATCH "a(" stdout
EXCEPTION RECOVERY STEP OOM NODE.REPLACE JOB
EXCEPTION RECOVERY STEP CRASH JOB NODE.ADD {"cout": 1}
EXCEPTION RECOVERY STEP CRAHS JOB NODE.REMOVE
EXCEPTION RECOVERY STEP OOM WMS NODE.ADD
"""
    assert [(d.line, d.code) for d in findings(text)] == [
        *((4, "ESL009"), (5, "ESL010"), (6, "ESL010"), (7, "ESL064"), (8, "ESL053"), (9, "ESL009")),
        *((10, "ESL070"), (11, "ESL034"), (11, "ESL033"), (12, "ESL030"), (12, "ESL042")),
    ]


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ('EXCEPTION RECOVERY STEP E JOB FILESYSTEM.REMOVE\n{"filesystem": "/a"}', ["ESL011"]),
        ("EXCEPTION DETECTION E LOG\n   \"x\" stdout", ["ESL010"]),
        ("DECLARE EXCEPTION\n A JOB_LEVEL\n JOB [a] ELSE FAIL", ["ESL010"]),
        ("EXCEPTION DETECTION E NODE DOWN EXCEPTION DETECTION E NODE DRAINED", ["ESL010"]),
        ("DECLARE RESURCE JOB[\n  ADD,\n  REMOVE\n]", ["ESL010"]),
    ],
)  # fmt: skip
def test_lines_that_belong_together(text: str, codes: list[str]) -> None:
    found = [d for d in findings(f"{HEADER}{DETECT}EXIT CODE 1\n{text}\n") if d.line > HEADER.count("\n")]
    assert [d.code for d in found] == codes


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ('{"filesytem": "/a", "defaultpath": "/b"}', ["ESL070 did you mean filesystem?"]),
        ('{"root": "/a", "defaultpath": "/b"}', ["ESL070 it needs filesystem"]),
        ('{"a": 1, "b": 2}', ["ESL070 it needs filesystem and defaultpath"]),
        ('{"filesystem": "/a"}', ["ESL071 defaultpath: old prefix, which the new root takes the place of"]),
        ("{}", ["ESL071 filesystem: "]),
        ('{"filesytem": "/a", "defualtpath": "/b"}', ["ESL070 did you mean f", "ESL070 did you mean d"]),
    ],
)
def test_arguments_that_are_misspelled(arguments: str, said: list[str]) -> None:
    text = HEADER.replace('ADD HANDLER "own.handler"', "ADD")
    text += f"{DETECT}EXIT CODE 1\nEXCEPTION RECOVERY STEP E JOB FILESYSTEM.REPLACE {arguments}\n"
    found = [f"{d.code} {d.hint}" for d in findings(text)]
    assert len(found) == len(said)
    assert all(text.startswith(start) for text, start in zip(found, said, strict=True))
