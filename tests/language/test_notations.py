"""Notations of other languages in texts of the rules, generated from the table; lines of real programs."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tests.alike import examples
from tests.language.corpus import DETECT, HEADER, RECOVER
from tests.language.test_checks import findings
from whesl.language import library
from whesl.language.diagnostics import Severity
from whesl.language.lint.notations import NOTATIONS, Where, search
from whesl.language.tools import sample_comments

STEP = f"EXIT CODE 7\n{RECOVER}JOB "
# A rule with a text of each kind, and the place of the text in the file.
PLACES = {
    Where.TEXT: "LOG {} stdout",
    Where.EXPRESSION: "MATCH {} stdout",
    Where.FILE: 'LOG "oops" file {}',
    Where.NO_LINES: 'LOG "oops" file {}',
    Where.SPACE: "DISK {} ABOVE 90%",
    Where.NODE: f"PREDICTED NODE {{}}\n{RECOVER}JOB NODE.REPLACE BEFORE FAILURE",
    Where.NUMBER: "PROGRESS {} stdout TIMEOUT 60",
    Where.SIGN: "LOG {} stdout TIMEOUT 60",
    Where.SUCCESS: 'SUCCESS IF OUTPUT "a" LOG {}',
    Where.PATH: f'{STEP}FILESYSTEM.REPLACE {{{{"filesystem": "/b", "defaultpath": {{}}}}}}',
    Where.COMMAND: f'{STEP}JOB.REPLACE {{{{"command": {{}}}}}}',
    Where.VALUE: f'{STEP}JOB.REPLACE {{{{"environment": {{{{"A": {{}}}}}}}}}}',
}


@pytest.mark.costly
@pytest.mark.parametrize("where", [Where.JOB, *PLACES])
@settings(
    max_examples=examples(60),
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.filter_too_much],
)
@given(data=st.data())
def test_every_notation_of_the_table_is_told(where: Where, data: st.DataObject) -> None:
    """Texts generated from the table's expressions are warned of, with what is to be written."""
    signs = [notation.sign for notation in NOTATIONS if where in notation.where]
    flags = re.VERBOSE | re.ASCII
    text = data.draw(st.sampled_from(signs).flatmap(lambda sign: st.from_regex(re.compile(sign, flags))))
    # A quote or backslash ends or changes the text where JSON or the rules read it.
    assume(text.isprintable() and '"' not in text and not text.endswith("\\"))
    assume(where in (Where.TEXT, Where.EXPRESSION, Where.FILE, Where.NUMBER) or "\\" not in text)
    found = search(text, where)
    assume(found is not None)
    rule = f"{DETECT}{PLACES[where].format(quoted(text))}" if where in PLACES else f"{DETECT}EXIT CODE 7"
    jobs = f"[{quoted(text)}]" if where is Where.JOB else "[run]"
    result = findings(HEADER.replace("JOB [run]", f"JOB {jobs}", 1) + rule + "\n")
    # What is wrong as a text of the rules at all is an error, told before any notation. Of two notations in a
    # text the first one is told.
    both = where in (Where.SIGN, Where.SUCCESS) and search(text, Where.TEXT)
    codes = {where.value[0], Where.TEXT.value[0]} if both else {where.value[0]}
    assert any(each.code in codes or each.severity is Severity.ERROR for each in result)
    assert all(each.hint for each in result)


def quoted(text: str) -> str:
    return f'"{text}"'


def test_lines_of_real_programs_are_no_notation() -> None:
    """A line of a program's log may be copied into LOG, but for what differs from run to run."""
    lines = [
        sample.text
        for name in library.names()
        for note in sample_comments.read(library.place(name).read_bytes(), name).detections
        for sample in (*note.sees, *note.ignores)
    ]
    assert len(lines) > 300
    found = {line: search(line, Where.TEXT) for line in lines}
    assert {line: f for line, f in found.items() if f is not None and "from run to run" not in f[1]} == {}
