"""How a program says that it outlived a trouble, in the line or beside it, by the knowledge's words."""

from __future__ import annotations

import re
from collections.abc import Sequence

from whesl.runtime.diagnose.diagnosis_records import Entry
from whesl.runtime.diagnose.labels import Cleaned, clean, form, is_warning
from whesl.runtime.diagnose.prepared_knowledge import words
from whesl.runtime.diagnose.progress import troubled

_COLUMNS = re.compile(r"\s{2,}|\t|\s*\|\s*")
_NUMBERS = re.compile(r"(?:[-+]?\d[\d.eE+-]*%?[\s|]+){2,}[-+]?\d[\d.eE+-]*%?[\s|]*\Z")
_FATAL = re.compile(r"(?i)\W*fatal\b")
SOON = 6  # greatest number of lines between a failed try and these words
_NO_NUMBER = re.compile(r"(?i)(?<![\w.])[-+]?(?:nan|inf)(?![\w.])")
_RANK = re.compile(r"(?i)\brank")
# The label of a logger: what stands before the level, and the name of the logger behind it.
_SPEAKER = re.compile(
    r"(?P<head>.{0,80}?)\b(?:TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR)\b(?P<name>[]|]?:[\w.]+:)?"
)
_WORD = re.compile(r"[A-Za-z_][\w.]*|\d+")
_STACK = re.compile(r"\s+at (?:async )?[\w.$/<>]+ ?\(|Stacktrace:")
# Words of the line, and the words that it quotes.
_QUOTED = re.compile(r"""(?P<head>\W*[A-Za-z][\w-]* [\w ,;:()-]*)(?<!\w)["'`“](?P<quoted>\S.*)["'`”]""")
_CAUSED = re.compile(r"Caused by: ")  # what Java prints below an exception's stack


def goes_on(text: str) -> bool:
    """Whether a line beside a trouble, such as the one above an exception, says that the program goes on."""
    return words("next-line").search(text) is not None


def warns(line: Cleaned) -> bool:
    """Whether a line is marked as a warning, tells of no trouble, or says that the program goes on."""
    if is_warning(line.level) or (words("warns").search(line.text) and not _FATAL.match(line.text)):
        return True
    return any(w.search(line.text) for w in (words("goes-on"), words("no-trouble")))


def raised(line: Cleaned, above: str, stack: bool) -> bool:
    """Whether a line is the text of an uncaught exception.

    The code that raises it has written the text, which tells nothing of whether the program goes on.

    Args:
        line: the line.
        above: the line above within a traceback of Python's; empty elsewhere.
        stack: whether the stack of an exception stands below.
    """
    below_a_frame = clean(above).text[:2].isspace() and not line.text[:1].isspace()
    said = words("last-words").search(line.text) is not None
    return not is_warning(line.level) and (stack or below_a_frame or said)


def heads_a_stack(line: str) -> bool:
    """Whether a line is the first one of the stack below an exception of Java, JavaScript or Julia."""
    return ("at " in line or "Stack" in line) and _STACK.match(clean(line).text) is not None


def passes_over(text: str, following: Sequence[str]) -> bool:
    """Whether a line is no trouble by the lines below it.

    It has the names of columns, belongs to a warning of Python's, or tells a value that is no number, and is
    one again below.

    Args:
        text: the line.
        following: the lines below it.
    """
    for line in following:
        if words("python-warned").search(line):
            return True
        if words("python-warns").search(line):
            break
    own = clean(text)
    if _NO_NUMBER.search(own.text) and not _RANK.search(own.text):
        expected = form(_NO_NUMBER.sub("0", own.text))
        sound = (line for line in map(clean, following) if line.rank == own.rank)
        if any(form(line.text) == expected and not _NO_NUMBER.search(line.text) for line in sound):
            return True
    names = _COLUMNS.split(own.text.strip(" |"))
    plain = len(names) > 2 and not any(char.isdigit() or char == ":" for char in own.text)
    below = clean(following[0]).text if following else ""
    return plain and _NUMBERS.match(below.lstrip(" |")) is not None


def next_try(own: str, following: Sequence[str]) -> int | None:
    """Return how many lines below a failed try the program speaks of a next one, or goes on without it.

    Args:
        own: the words of the failed try; the result is 0 where they speak of a next try.
        following: the lines below it.

    Returns:
        None where no line does.
    """
    if following:
        text = clean(following[0]).text
        if goes_on(text) or words("next-line-only").search(text):
            return 1
    again = words("tries-again")
    lines = enumerate((own, *following))
    return next((at for at, line in lines if again.search(line) and not _CAUSED.match(line)), None)


def quoted(text: str, entry: Entry) -> bool:
    """Whether a line only quotes a message, behind words that tell of no trouble.

    Args:
        text: the line, without labels.
        entry: the message that was found in it.
    """
    found = _QUOTED.match(text)
    if found is None or troubled(found["head"]):
        return False
    return any(re.search(expression, found["quoted"]) for expression in entry.match)


def speaker(text: str) -> str:
    """Return the form of the label that a logger puts before a line; empty for none, and for a fatal level.

    Two lines with one form come from one program: the lines of a script around it look different.
    """
    found = _SPEAKER.match(text)
    return _WORD.sub("w", "".join(filter(None, found.groups()))).strip() if found is not None else ""
