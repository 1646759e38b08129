"""The arguments of a recovery step: JSON, with the place of each part."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from whesl.language.compiler.source import Source
from whesl.language.compiler.syntax import Word
from whesl.language.diagnostics import Range

_TEXT = r'"(?:[^"\\\r\n]|\\[^\r\n])*"'
_CONTINUED = re.compile(rf"({_TEXT})|\\[ \t]*(?:\r\n|\n|\r)")
JSON_TOKEN = re.compile(rf"{_TEXT}|[{{}}\[\],:]|[^\s{{}}\[\],:\"]+")
# The syntax of placeholders in the recovery; $${ is a literal ${.
_PLACEHOLDER = re.compile(r"\$\$(?=\{)|\$\{(?P<name>[^{}]*)\}")
_INTEGER_DIGITS = 19  # digits of the largest signed 64-bit integer
_HINTS = {
    "Expecting property name": "names stand in double quotes, and no comma stands before }",
    "Expecting value": "a value is a text in double quotes, a number, true, false, null, a list or an object",
    "Expecting ',' delimiter": "put a comma between two entries",
    "Expecting ':' delimiter": "put a colon between a name and its value",
    "Invalid control character": "in a text, a tab is written \\t and a line end \\n",
    "Invalid \\escape": "in a JSON text, a backslash is written \\\\",
    "Illegal trailing comma": "no comma stands before } or ]",
}


@dataclass
class Arguments:
    """A JSON object, with the offsets of its names, of their values, and of the placeholders in its texts."""

    values: dict[str, Any] = field(default_factory=dict)
    names: dict[str, tuple[int, int]] = field(default_factory=dict)
    places: dict[str, tuple[int, int]] = field(default_factory=dict)
    placeholders: list[Word] = field(default_factory=list)


def read(source: Source, word: Word) -> Arguments | None:
    """Return a recovery step's JSON arguments; report errors to the source's findings and return None.

    Args:
        source: the specification's text.
        word: the arguments in braces.
    """
    text = plain(word.text)
    try:
        values = json.loads(text, parse_int=_whole, parse_constant=lambda _: 0.0)
    except json.JSONDecodeError as error:
        hint = next((hint for start, hint in _HINTS.items() if error.msg.startswith(start)), "")
        if text.startswith("$", error.pos):
            hint = 'a placeholder stands in a text: "${name}"'
        at = min(word.start + error.pos, word.end - 1)
        source.findings.add(
            "ESL014",
            f"the arguments are not JSON: {error.msg[:1].lower()}{error.msg[1:]}",
            Range(at, at + 1),
            hint=hint,
        )
        return None
    arguments = Arguments(values)
    # The text is valid JSON, so that its tokens can be followed without checks of their form.
    good = all([_follow(source, word.start, text, arguments), _numbers(source, word.start, text)])
    return arguments if good else None


def plain(text: str) -> str:
    """Return arguments with the backslashes of continued lines replaced by blanks; offsets do not change."""
    if "\\" not in text:
        return text
    return _CONTINUED.sub(lambda m: m.group(1) or " " * len(m.group()), text)


def _whole(digits: str) -> int:
    """Return an integer, or 0 for one out of range: ``_numbers`` reports that one with its place."""
    return int(digits) if len(digits) <= _INTEGER_DIGITS + 1 else 0


def _follow(source: Source, base: int, text: str, arguments: Arguments) -> bool:
    """Note the places of names, values and placeholders; report repeated names and invalid texts."""
    good = True
    scopes: list[set[str] | None] = []  # for each open object the names seen in it, for each open list None
    before, name, value_at = "", "", 0
    for match in JSON_TOKEN.finditer(text):
        part, at, end = match.group(), base + match.start(), base + match.end()
        if before == ":" and len(scopes) == 1:
            value_at = at
        is_name = False
        if part[0] == '"':
            value, fine = _text(source, part, at)
            good = good and fine
            scope = scopes[-1]
            is_name = scope is not None and before in ("{", ",")
            if scope is not None and is_name:
                if value in scope:
                    source.findings.add(
                        "ESL015", f"{part} is given twice", Range(at, end), hint="leave one out"
                    )
                    good = False
                scope.add(value)
                if len(scopes) == 1:
                    name = value
                    arguments.names[name] = (at, end)
            else:
                arguments.placeholders += _placeholders(part, value, at)
        elif part in "{[":
            scopes.append(set() if part == "{" else None)
        elif part in "}]":
            scopes.pop()
        if len(scopes) == 1 and not is_name and part not in "{,:":
            arguments.places[name] = (value_at, end)
        before = part
    return good


def _placeholders(part: str, value: str, at: int) -> Iterator[Word]:
    """Yield the placeholders of a JSON text with their places.

    The columns of a text with escape sequences differ from those of its value, so each placeholder in such
    a text gets the place of the whole text.
    """
    whole = len(part) != len(value) + 2
    for found in _PLACEHOLDER.finditer(value):
        if found["name"] is not None:
            start, end = (0, len(part)) if whole else (found.start() + 1, found.end() + 1)
            yield Word(found["name"], at + start, at + end)


def _text(source: Source, part: str, at: int) -> tuple[str, bool]:
    """Return the value of a JSON text, and whether the value can be a process argument."""
    if "\\" not in part:
        return part[1:-1], True
    value: str = json.loads(part)
    if "\0" in value or any("\ud800" <= character <= "\udfff" for character in value):
        source.findings.add(
            "ESL014",
            "the text has a character that no file name or command can have",
            Range(at, at + len(part)),
            hint="take out \\u0000 and halves of pairs (\\ud800 to \\udfff)",
        )
        return value, False
    return value, True


def _numbers(source: Source, base: int, text: str) -> bool:
    """Report numbers that are out of range, and words such as NaN; return whether there are none."""
    good = True
    for match in JSON_TOKEN.finditer(text):
        part = match.group()
        if part in ("true", "false", "null") or not (part[0].isalnum() or part[0] == "-"):
            continue
        if part.lstrip("-").isdecimal():
            fits = len(part) <= _INTEGER_DIGITS + 1 and -(2**63) <= int(part) < 2**63
        else:
            fits = math.isfinite(float(part))
        if not fits:
            shown = part if len(part) <= 24 else f"{part[:24]}..."
            source.findings.add(
                "ESL016",
                f"the number {shown} is out of range",
                Range(base + match.start(), base + match.end()),
                hint="whole numbers have at most 64 bits, others are finite",
            )
            good = False
    return good
