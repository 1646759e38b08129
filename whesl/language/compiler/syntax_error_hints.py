"""Hints for syntax errors: the forms of statements, and replacements for common mistakes."""

from __future__ import annotations

import re
from collections.abc import Sequence

from whesl.language.compiler.grammar import TOKEN
from whesl.language.compiler.lexer import Lexeme
from whesl.language.detections.kinds import KINDS

_DECLARED = {
    TOKEN.ENTITY: "DECLARE ENTITY entity, ...",
    TOKEN.EXCEPTION_TYPE: "DECLARE EXCEPTION_TYPE type, ...",
    TOKEN.RESOURCE: 'DECLARE RESOURCE resource[operation [HANDLER "name"], ...]',
    TOKEN.COUPLED: "DECLARE COUPLED JOB [job, job, ...]",
    TOKEN.EXCEPTION: (
        "DECLARE EXCEPTION name type JOB [job, ...] [LIMIT n [WITHIN s]] [BACKOFF s] [ELSE action]"
    ),
}
_DETECTED = {
    getattr(TOKEN, word): form
    for kind in KINDS
    for form in kind.written
    for word in form.split()[0].split("|")
}
_RECOVERED = (
    'EXCEPTION RECOVERY STEP exception entity resource.operation [BEFORE FAILURE] [{"argument": value, ...}]'
)
_HABITS = {
    "OR": 'for one of several texts write ANY ["a", "b"]',
    "AND": 'for all of several texts write MULTIPLE ["a", "b"]',
    "BUT": "write EXIT ANY EXCEPT CODE ...",
    "RETRY": "LIMIT says how often an exception is recovered",
    "RETRIES": "LIMIT says how often an exception is recovered",
    "STOP": "FAIL ends the task",
    "ABORT": "FAIL ends the task",
    "RESTART": "after every recovery step the task is restarted; JOB.REPLACE does nothing else",
    "RERUN": "after every recovery step the task is restarted; JOB.REPLACE does nothing else",
    "//": "a comment begins with #",
    "/*": "a comment begins with #",
    "--": "a comment begins with #",
    "(": 'arguments stand in braces: {"name": value}',
}
_SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}
_UNIT = re.compile(
    r"[ \t]*(ms|s|sec|secs|second|seconds|m|min|mins|minute|minutes|h|hour|hours|d|day|days)\b",
    re.IGNORECASE,
)
_CLOCK = re.compile(r"[0-9]{1,9}(?::[0-9]{1,2}){1,2}\b")
# The first keyword of an optional part in a statement's form.
_CLAUSE = re.compile(r"(?:\[|\| )([A-Z]{4,})\b")
_LONGEST = 12  # digits of a number up to which it is converted to seconds


def form(words: Sequence[Lexeme]) -> str:
    """Return the hint with the form of a statement by its first words, or an empty string."""
    kinds = [word.type for word in words[:4]]
    if kinds[:1] == [TOKEN.DECLARE] and len(kinds) > 1 and kinds[1] in _DECLARED:
        return f"the form is: {_DECLARED[kinds[1]]}"
    if kinds[:2] == [TOKEN.EXCEPTION, TOKEN.RECOVERY]:
        return f"the form is: {_RECOVERED}"
    if kinds[:2] == [TOKEN.EXCEPTION, TOKEN.DETECTION] and len(kinds) > 3 and kinds[3] in _DETECTED:
        return f"the form is: {_DETECTED[kinds[3]]}"
    return ""


def elsewhere(words: Sequence[Lexeme]) -> str:
    """Return the hint that the last word is a clause of another statement, or an empty string.

    Args:
        words: the words of a statement, up to the unexpected one.
    """
    *before, clause = words
    name = clause.text.upper()
    if not before or name in form(words):
        return ""
    for written in (_DECLARED[TOKEN.EXCEPTION], _RECOVERED, _DECLARED[TOKEN.RESOURCE]):
        if name in _CLAUSE.findall(written):
            return f"{name} stands in another statement: {written}"
    detections = [written for written in _DETECTED.values() if name in _CLAUSE.findall(written)]
    return (
        f"{name} stands in another statement: EXCEPTION DETECTION exception {detections[0]}"
        if detections
        else ""
    )


def habit(text: str, start: int) -> str:
    """Return the hint for a common mistake at an offset, or an empty string.

    Args:
        text: the specification's text.
        start: the offset of the unexpected word.
    """
    word = re.compile(r"[A-Za-z_]+|//|/\*|--|\(").match(text, start)
    return _HABITS.get(word.group().upper(), "") if word is not None else ""


def seconds(text: str, number: Lexeme) -> tuple[str, int]:
    """Return a time with a unit, or of the form h:mm:ss, in seconds, and the offset behind it.

    Args:
        text: the specification's text.
        number: the time's first number.
    """
    clock = _CLOCK.match(text, number.start)
    if clock is not None:
        parts = [int(part) for part in clock.group().split(":")]
        total = 0
        for part in (*parts, *([0] if len(parts) == 2 else [])):
            total = 60 * total + part
        # Two parts are ambiguous: hours and minutes, or minutes and seconds.
        return (str(total) if len(parts) == 3 else ""), clock.end()
    unit = _UNIT.match(text, number.end)
    if unit is None or len(number.text) > _LONGEST:
        return "", number.end
    name = unit.group(1).lower()
    value = float(number.text) * _SECONDS["ms" if name == "ms" else name[0]]
    return f"{value:.10g}", unit.end()
