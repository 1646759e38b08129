"""Message templates: a template is a whole message in which ``<*>`` stands for any text.

Lines are searched for the longest fixed text of each template, which is cheap. The message of a line with
such a text is then compared with the whole templates.
"""

from __future__ import annotations

from whesl.language.pattern_and_stream_records import Pattern
from whesl.model.errors import UsageError
from whesl.runtime.detect.regex_canonical_form import MAX_LITERAL, canonical

WILD = "<*>"
_LEAST = 3  # least number of characters of fixed text; fewer occur in nearly every line
_MOST = 1000  # largest number of characters of a template; a longer one is cut and ends in a wildcard


def whole(template: str) -> Pattern:
    """Return the regular expression that matches whole messages of a template.

    Args:
        template: fixed text and ``<*>``.
    """
    escaped = "".join(map(_escaped, _cut(template)))
    return Pattern(text=f"^{escaped}$", regex=True)


def anchor(template: str) -> Pattern:
    """Return the longest fixed text of a template.

    Args:
        template: see ``checked``.
    """
    text = max(template.split(WILD), key=len).strip()
    return Pattern(text=text.encode()[:MAX_LITERAL].decode("utf-8", "ignore"))


def checked(template: str) -> str:
    """Return a template without spaces at its ends, after a check that lines can be searched for it.

    Raises:
        UsageError: the template has a line break, or too little fixed text.
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
    """Return the fixed texts and wildcards of a template in order."""
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
