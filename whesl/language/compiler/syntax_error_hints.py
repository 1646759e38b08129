"""How statements are written, and what people write in their place."""

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
# What begins an optional part of a statement's form.
_CLAUSE = re.compile(r"(?:\[|\| )([A-Z]{4,})\b")
_LONGEST = 12  # digits of a number that is converted


def form(words: Sequence[Lexeme]) -> str:
    """Return how the statement that some words begin is written, or an empty string."""
    kinds = [word.type for word in words[:4]]
    if kinds[:1] == [TOKEN.DECLARE] and len(kinds) > 1 and kinds[1] in _DECLARED:
        return f"the form is: {_DECLARED[kinds[1]]}"
    if kinds[:2] == [TOKEN.EXCEPTION, TOKEN.RECOVERY]:
        return f"the form is: {_RECOVERED}"
    if kinds[:2] == [TOKEN.EXCEPTION, TOKEN.DETECTION] and len(kinds) > 3 and kinds[3] in _DETECTED:
        return f"the form is: {_DETECTED[kinds[3]]}"
    return ""


def elsewhere(words: Sequence[Lexeme]) -> str:
    """Return where the last of some words belongs: a clause of another statement than the one it stands in.

    Args:
        words: a statement's, up to the one that it cannot have.
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
    """Return what to write in place of what stands at an offset, if people write it often."""
    word = re.compile(r"[A-Za-z_]+|//|/\*|--|\(").match(text, start)
    return _HABITS.get(word.group().upper(), "") if word is not None else ""


def seconds(text: str, number: Lexeme) -> tuple[str, int]:
    """Return the seconds that a number with a unit or a time of day is, and where it ends.

    Args:
        text: what the number stands in.
        number: the number.
    """
    clock = _CLOCK.match(text, number.start)
    if clock is not None:
        parts = [int(part) for part in clock.group().split(":")]
        total = 0
        for part in (*parts, *([0] if len(parts) == 2 else [])):
            total = 60 * total + part
        # A time limit of two parts is hours and minutes to some and minutes and seconds to others.
        return (str(total) if len(parts) == 3 else ""), clock.end()
    unit = _UNIT.match(text, number.end)
    if unit is None or len(number.text) > _LONGEST:
        return "", number.end
    name = unit.group(1).lower()
    value = float(number.text) * _SECONDS["ms" if name == "ms" else name[0]]
    return f"{value:.10g}", unit.end()
