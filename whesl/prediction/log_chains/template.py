"""Message templates: a whole message, in which ``<*>`` stands for any text, as parsers of logs write them.

Lines are looked for by the longest fixed text of a template, which costs next to nothing; the message of a
line that has it is then compared with whole templates.
"""

from __future__ import annotations

from whesl.language.patterns_and_places import Pattern
from whesl.model.errors import UsageError
from whesl.runtime.detect.regex_canonical_form import MAX_LITERAL, canonical

WILD = "<*>"
_LEAST = 3  # characters of fixed text below which a template is in nearly every line
_MOST = 1000  # characters; a longer one is cut, and any text may follow


def whole(template: str) -> Pattern:
    """Return the expression that matches a message of a template from its beginning to its end.

    Args:
        template: fixed text and ``<*>``.
    """
    escaped = "".join(map(_escaped, _cut(template)))
    return Pattern(text=f"^{escaped}$", regex=True)


def anchor(template: str) -> Pattern:
    """Return the longest fixed text of a template.

    Args:
        template: as of ``checked``.
    """
    text = max(template.split(WILD), key=len).strip()
    return Pattern(text=text.encode()[:MAX_LITERAL].decode("utf-8", "ignore"))


def checked(template: str) -> str:
    """Return a template that can be looked for, without spaces at its ends.

    Raises:
        UsageError: it has a line break, or too little fixed text.
    """
    template = template.strip()
    if "\n" in template or "\r" in template:
        raise UsageError(f"{template[:60]!r} has a line break", hint="a step is one message")
    if len(anchor(template).text) < _LEAST:
        raise UsageError(
            f"{template[:60]!r} has less than {_LEAST} characters of fixed text, and is in too many messages",
            hint="write the message, with <*> where it varies",
        )
    canonical(anchor(template))
    canonical(whole(template))
    return template


def _cut(template: str) -> list[str]:
    """Return fixed text and wildcards in turn."""
    parts: list[str] = []
    text = template if len(template) <= _MOST else template[:_MOST].rpartition(" ")[0] + WILD
    for place, fixed in enumerate(text.split(WILD)):
        parts += [WILD] if place else []
        parts += [fixed] if fixed else []
    return [
        part for place, part in enumerate(parts) if part != WILD or place == 0 or parts[place - 1] != WILD
    ]


def _escaped(part: str) -> str:
    if part == WILD:
        return ".*"
    return "".join(
        letter if letter.isalnum() or ord(letter) > 127 else f"\\x{ord(letter):02x}" for letter in part
    )
