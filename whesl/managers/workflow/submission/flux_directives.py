"""Reads the submission directives in a script for Flux (``#flux: -N4``) that WHESL needs. Pure.

Source: RFC 36 and flux-batch(1), "SUBMISSION DIRECTIVES". Flux itself reads all directives at the submission.
WHESL needs some before it: names, nodes, directory, urgency, flags.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

# The begin of a directive: any prefix without letters or digits, then the tag.
_SENTINEL = re.compile(r"^[^\w]*(?:flux|FLUX):(.*)$")
# Triple quotes: a line that ends with a single one begins or ends a value of several lines.
_OPEN = ('"""', "'''")
_LONG = {"nodes": "nodes", "job-name": "job-name", "cwd": "chdir", "urgency": "urgency", "flags": "flags"}


def present(text: str) -> bool:
    """Whether a script has a directive."""
    return any(_SENTINEL.match(line) for line in text.splitlines())


def parse(text: str) -> dict[str, str | None]:
    """Return the options that WHESL needs, by long names, with the values that Flux would use.

    ``chdir`` stands for Flux's ``cwd``. Repeated ``flags`` add up, and are joined with commas.
    """
    found: dict[str, str | None] = {}
    for words in _words(text):
        take(words, found)
    return found


def take(words: list[str], found: dict[str, str | None]) -> None:
    """Add the options of a command line that WHESL needs to the options found so far.

    Args:
        words: the command line's words.
        found: the options by long names; later options override earlier ones.
    """
    index = 0
    while index < len(words):
        word = words[index]
        index += 1
        name, equals, value = word.partition("=")
        if word.startswith("-N") and not word.startswith("--"):
            name, equals, value = "--nodes", word[2:], word[2:]
        known = _LONG.get(name[2:]) if name.startswith("--") else None
        if known is None:
            continue
        if not equals and index < len(words):
            value = words[index]
            index += 1
        if known == "flags" and found.get("flags"):
            value = f"{found['flags']},{value}"
        found[known] = value


def _words(text: str) -> Iterator[list[str]]:
    inside = ""
    for line in text.splitlines():
        match = _SENTINEL.match(line)
        if match is None:
            continue
        value = match.group(1).rstrip()
        if inside:
            # WHESL needs no value of several lines, which is most often a configuration.
            inside = "" if value.endswith(inside) else inside
            continue
        opened = next((quotes for quotes in _OPEN if value.endswith(quotes) and value.count(quotes) == 1), "")
        if opened:
            inside = opened
            continue
        try:
            yield shlex.split(value, comments=True)
        except ValueError:
            continue  # Flux itself reports the error at the submission
