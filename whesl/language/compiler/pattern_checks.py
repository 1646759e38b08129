r"""Checks whether hyperscan, RE2 and (for its captures) ``re`` can run a pattern on a stream.

A regular expression has to mean the same to all three, since the engine depends on the machine. Constructs
that they read in different ways are refused, whichever engine this machine has: flags other than ``(?i)``,
POSIX classes, escapes other than ``\d \w \s \D \W \S \b \B \t \xHH`` and punctuation.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass, replace
from functools import lru_cache

import re2

from whesl.language.diagnostics import Severity
from whesl.language.pattern_and_stream_records import Pattern

try:
    import hyperscan
except ImportError:
    hyperscan = None  # type: ignore[assignment]  # this machine has no wheel of it: google-re2 matches alone

MAX_LENGTH = 2048  # bytes of a pattern; hyperscan's own limit is eight times higher
MAX_COUNTED = 1000  # copies that counted repetitions of a pattern unfold to; RE2's limit for one repetition
MAX_COUNTED_IN_FILE = 2000  # copies in all patterns of a file; a thousand take about 0.2 s to compile
MAX_KINDS_IN_FILE = 200  # different ``_kind`` values tried with the engines; each takes about 1 ms to compile
MAX_TRIED = 3  # repetitions of an expression that ``found_in`` runs with ``re``, which backtracks
MAX_NESTED = 10  # levels of nested repetitions; hyperscan's compiler takes 0.09 s for 20, 41 s for 30

# Constructs that only a backtracking engine runs: first characters, and name.
_NO_STREAM = {
    "(?=": "look-ahead",
    "(?!": "look-ahead",
    "(?<=": "look-behind",
    "(?<!": "look-behind",
    "(?>": "an atomic group",
    "(?(": "a conditional group",
    "(?P=": "a back-reference",
}
_PART = re.compile(
    r"""(?P<escape>\\(?:x[0-9A-Fa-f]{2}|[0-9]+|.))
      | (?P<class>\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\])
      | (?P<group>\(\?(?:P<\w+>|<\w+>|<[=!]|P=\w+|[=!>(:\#]|[A-Za-z-]*[:)])?)
      | (?P<count>\{[0-9]*(?:,[0-9]*)?\}[+?]?)
      | (?P<repeat>[*+?][+?]?)
      | (?P<literal>[A-Za-z0-9 _:,=/-]+)
      | (?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPES = r"known are \d \w \s \D \W \S \b \B \t \xHH, and a backslash before a sign of punctuation"
_KNOWN_ESCAPES = frozenset("dDwWsSbBtvfax")
_KNOWN_IN_CLASS = _KNOWN_ESCAPES - set("bB") | set("nr")
_ANCHORS = "^ stands at a pattern's start and $ at its end; for the character itself write \\^ or \\$"
_OTHER = "write it in other words; to find a text as it stands, use LOG in place of MATCH"
_ASSERTIONS = frozenset({"^", "$", "\\b", "\\B"})


@dataclass(frozen=True, slots=True)
class Problem:
    """An error of a pattern: a code of ``diagnostics.CODES``, a sentence and a hint.

    ``part`` is the start and end (exclusive) of the wrong part in the pattern, None for the whole pattern.
    """

    code: str
    message: str
    hint: str = ""
    severity: Severity = Severity.ERROR
    part: tuple[int, int] | None = None


class PatternCheck:
    """Checks the patterns of one file, within limits on the time to compile all of them."""

    def __init__(self) -> None:
        self._counted = 0
        self._kinds: dict[str, Problem | None] = {}

    def literal(self, text: str) -> Problem | None:
        """Return the error of a literal text, None for a sound one."""
        if not text:
            return Problem("ESL050", "the pattern is empty", "write a part of the line that tells the fault")
        if not text.strip():
            return Problem(
                "ESL051",
                "the pattern is of blanks only: it is in nearly every line",
                "write a part of the line that tells the fault",
                severity=Severity.WARNING,
            )
        if len(text.encode()) > MAX_LENGTH:
            return _too_long(text)
        return None

    def regex(self, text: str) -> Problem | None:
        """Return the error of a regular expression, None for a sound one."""
        if not text:
            return self.literal(text)
        if len(text.encode()) > MAX_LENGTH:
            return _too_long(text)
        problem = _syntax(text)
        if problem is not None:
            return problem
        deepest, at = _nested(text)
        if deepest > MAX_NESTED:
            return Problem(
                "ESL053",
                f"repetitions stand in one another more than {MAX_NESTED} deep",
                "compiling it could take minutes: repeat what stands inside once",
                part=at,
            )
        counted, at = _counted(text)
        self._counted += counted if counted <= MAX_COUNTED else 0
        if counted and (counted > MAX_COUNTED or self._counted > MAX_COUNTED_IN_FILE):
            whose = "this pattern" if counted > MAX_COUNTED else "all patterns of the file together"
            most = MAX_COUNTED if counted > MAX_COUNTED else MAX_COUNTED_IN_FILE
            return Problem(
                "ESL053",
                f"the counted repetitions of {whose} unfold to more than {most}",
                "use * or + in place of {m,n}",
                part=at,
            )
        kind = _kind(text)
        if kind not in self._kinds and len(self._kinds) < MAX_KINDS_IN_FILE:
            self._kinds[kind] = _engines(kind)
        problem = self._kinds.get(kind)
        if problem is None or problem.part is None:
            return problem
        start = _unshortened(text, problem.part[0])
        return replace(problem, part=(start, start + 1))


def captures(text: str) -> tuple[str, ...]:
    """Return the names of the groups of an expression without errors, in their order."""
    return tuple(_compiled(text).groupindex)


def found_in(pattern: Pattern, line: str) -> bool:
    """Whether a pattern without errors is found in a line; False for an expression that may take long.

    Args:
        pattern: the text or expression.
        line: the line, without its end.
    """
    if not pattern.regex:
        return pattern.text in line
    repeats = sum(bool(match["repeat"] or match["count"]) for match in _PART.finditer(pattern.text))
    if repeats > MAX_TRIED or _nested(pattern.text)[0] > 1:
        return False
    return _compiled(pattern.text).search(line.encode(errors="surrogateescape")) is not None


def groups(text: str) -> int:
    """Return the number of groups of an expression without errors."""
    return _compiled(text).groups


def with_named_group(text: str, name: str) -> str:
    """Return an expression whose one unnamed group gets a name.

    Args:
        text: the expression, without errors.
        name: the name of the group.
    """
    for match in _PART.finditer(text):
        if match.group() == "(":
            return f"{text[: match.end()]}?P<{name}>{text[match.end() :]}"
    raise ValueError(f"no unnamed group in {text!r}")


def _too_long(text: str) -> Problem:
    message = f"the pattern has {len(text.encode())} bytes; the most is {MAX_LENGTH}"
    return Problem("ESL053", message, "write the part of the line that tells the fault")


@lru_cache(maxsize=4096)
def _compiled(text: str) -> re.Pattern[bytes]:
    with warnings.catch_warnings():
        # Other engines read the syntax that `re` warns about differently ([[:alpha:]] and similar).
        warnings.simplefilter("error", FutureWarning)
        return re.compile(_bytes(text))


def _construct(text: str, match: re.Match[str]) -> Problem | None:
    """Return the error of one part of an expression, looked at separately; None for a sound part."""
    part = match.group()
    reason = ""
    if not part.isascii() and match["class"]:
        return Problem("ESL053", f"{part} lists characters of several bytes", "write (?:ä|ö) for [äö]")
    if match["group"]:
        reason = next((why for start, why in _NO_STREAM.items() if part.startswith(start)), "")
        if part.startswith("(?<") and not reason:
            return Problem("ESL053", f"{part} is not read by all engines", f"write (?P{part[2:]}")
        flags = part[2:-1]
        if flags.isalpha() and (flags != "i" or (part.endswith(")") and match.start() > 0)):
            return Problem(
                "ESL053",
                f"{part} is not read alike by all engines",
                "write (?i) at the start, or (?i:...)",
            )
        if flags == "i" and not text.isascii():
            return Problem(
                "ESL053",
                f"{part} does not reach characters outside ASCII",
                "list both cases: (?:ä|Ä)",
            )
    elif match["escape"] and part[1] in "123456789":
        reason = "a back-reference"
    elif match["escape"] and part[1] in "nr":
        return Problem(
            "ESL052",
            f"{part} never matches: lines are searched without their ends",
            "use ^ and $; for texts on several lines MULTIPLE [...]",
        )
    elif match["escape"] and part[1].isalnum() and part[1] not in _KNOWN_ESCAPES:
        return Problem("ESL053", f"{part} is not read alike by all engines", _ESCAPES)
    elif (match["repeat"] or match["count"]) and len(part) > 1 and part.endswith("+"):
        reason = "a possessive repetition"
    elif text.startswith("{,", match.start()):
        return Problem("ESL053", "{, is not read alike by all engines", "write {0,n} or \\{,")
    elif match["count"] and not part.strip("{0,}+?"):
        return Problem("ESL053", f"{part} repeats nothing", "leave out what it repeats")
    elif match["class"] and any(
        c.isalnum() and c not in _KNOWN_IN_CLASS for c in re.findall(r"\\(.)", part, re.DOTALL)
    ):
        return Problem("ESL053", f"{part} has an escape that not all engines read alike", _ESCAPES)
    elif match["class"] and "[:" in part[1:]:
        return Problem("ESL053", f"{part} is not read by all engines", r"write \d, \w, \s or [A-Za-z]")
    if reason:
        return Problem(
            "ESL053",
            f"a stream cannot be searched with {reason} ({part})",
            "describe the text itself; detection reads every line once and never goes back",
        )
    return None


def _syntax(text: str) -> Problem | None:
    """Return the error of a text that is no expression, or that needs a backtracking engine; else None."""
    for match in _PART.finditer(text):
        problem = _construct(text, match)
        if problem is not None:
            return replace(problem, part=match.span())
    try:
        _compiled(text)
    except re.error as error:
        part = None if error.pos is None else _one(text, _character(text, error.pos))
        message = f"not a regular expression: {error.msg}"
        return Problem("ESL053", message, _hint(error.msg, text, part), part=part)
    except (FutureWarning, OverflowError, RecursionError) as error:
        return Problem("ESL053", f"not a regular expression that can be run: {str(error) or 'too deep'}")
    # Assertions are left out of this test: \\b alone is found in nearly every line, but not in an empty one.
    parts = ("(?:)" if part.group() in _ASSERTIONS else part.group() for part in _PART.finditer(text))
    if re.compile(_bytes("".join(parts))).match(b"") is not None:
        return Problem("ESL051", "the pattern matches the empty text: every line", "name what must be there")
    return None


def _hint(message: str, text: str, part: tuple[int, int] | None) -> str:
    if message.startswith("bad escape"):
        return _ESCAPES
    if "group name" in message:
        return "a name has letters, digits and _"
    if message.startswith("bad character range"):
        return "a range goes from the lower sign to the higher, as in [a-z]"
    if message.startswith("redefinition"):
        return "give the second group another name"
    sign = text[part[0]] if part is not None and text else ""
    if sign and not sign.isalnum() and sign != "\\":
        return (
            f"for the character itself write \\{sign}; to find a text as it stands, use LOG in place of MATCH"
        )
    return ""


def _counted(text: str) -> tuple[int, tuple[int, int] | None]:
    """Return an upper bound of the copies that counted repetitions unfold to, and the place of the maximum.

    Copies of nested repetitions are multiplied.
    """
    total, place = 0, None
    sizes = [0]  # for each open group the number of copies in it
    last = 0  # copies in the part that a repetition would apply to
    for match in _PART.finditer(text):
        part = match.group()
        if match["count"]:
            times = max((int(n[:6]) for n in re.findall(r"[0-9]+", part)), default=1)
            sizes[-1] += last * max(0, times - 1)
            if times > 1 and sum(sizes) > total:
                total, place = sum(sizes), match.span()
        elif match["group"] or part == "(":
            if part.endswith(")"):
                continue  # flags only
            sizes.append(0)
            last = 0
            continue
        elif part == ")" and len(sizes) > 1:
            last = sizes.pop()
            sizes[-1] += last
            continue
        elif not match["repeat"]:
            last = 1
            sizes[-1] += len(part) if match["literal"] else 1
    return total, place


def _nested(text: str) -> tuple[int, tuple[int, int] | None]:
    """Return how deep the repetitions of an expression are nested, and the place of the deepest one."""
    deepest = last = 0  # depth of the whole; depth of the part that a repetition would apply to
    place = None
    open_groups = [0]
    for match in _PART.finditer(text):
        part = match.group()
        if part == "(" or (match["group"] and not part.endswith(")")):
            open_groups.append(0)
            last = 0
        elif part == ")" and len(open_groups) > 1:
            last = open_groups.pop()
        elif match["repeat"] or match["count"]:
            last += 1
        else:
            last = 0
        open_groups[-1] = max(open_groups[-1], last)
        if last > deepest:
            deepest, place = last, match.span()
    return deepest, place


@lru_cache(maxsize=4096)
def _kind(text: str) -> str:
    r"""Return the expression with each literal word cut to two characters: all engines judge both alike.

    With two characters a repetition still applies to the last one only. Letters and other characters stay
    different, since ``\b`` depends on that.
    """
    return "".join(
        _ends(match.group()) if match["literal"] else match.group() for match in _PART.finditer(text)
    )


def _ends(literal: str) -> str:
    ends = literal if len(literal) == 1 else literal[0] + literal[-1]
    return "".join("a" if end.isalnum() or end == "_" else " " for end in ends)


def _bytes(text: str) -> bytes:
    """Return an expression in UTF-8, with a group around each character of several bytes."""
    if text.isascii():
        return text.encode()
    parts = (part.group() for part in _PART.finditer(text))
    return "".join(part if part.isascii() else f"(?:{part})" for part in parts).encode()


def _character(text: str, index: int) -> int:
    """Return the index of the character in ``text`` that contains byte ``index`` of ``_bytes(text)``."""
    at = 0
    for match in _PART.finditer(text):
        part = match.group()
        size = len(_bytes(part)) if part.isascii() else len(part.encode()) + len("(?:)")
        if index < at + size:
            return match.start() + (index - at if part.isascii() else 0)
        at += size
    return len(text)


def _unshortened(text: str, index: int) -> int:
    """Return the index of the character in ``text`` for character ``index`` of ``_kind(text)``."""
    at = 0
    for match in _PART.finditer(text):
        size = len(_ends(match.group())) if match["literal"] else len(match.group())
        if index < at + size:
            return match.start() + (
                index - at if not match["literal"] or index == at else len(match.group()) - 1
            )
        at += size
    return max(0, len(text) - 1)


def _one(text: str, index: int) -> tuple[int, int]:
    at = min(index, max(0, len(text) - 1))
    return at, at + 1


def _place(text: str, reason: str) -> tuple[int, int] | None:
    """Return the place that an engine's message gives by an index, an anchor or the part itself."""
    numbered = re.search(r"index ([0-9]+)", reason)
    if numbered:
        return _one(text, _character(text, int(numbered.group(1))))
    for anchor, sign in (("start anchors", "^"), ("end anchors", "$")):
        if anchor in reason:
            places = [m.start() for m in _PART.finditer(text) if m.group() == sign]
            return _one(text, places[-1 if sign == "^" else 0]) if places else None
    at = text.find(reason.rpartition(": ")[2]) if ": " in reason else -1
    return _one(text, at) if at > 0 else None


@lru_cache(maxsize=4096)
def _engines(text: str) -> Problem | None:
    """Return the error of the first engine that refuses an expression, None where all accept it."""
    if hyperscan is not None:
        problem = _hyperscan(text)
        if problem is not None:
            return problem
    return _re2(text)


def _hyperscan(text: str) -> Problem | None:
    try:
        hyperscan.Database().compile(expressions=[_bytes(text)], flags=[0])
    except hyperscan.error as error:
        reason = str(error)
        if "never match" in reason:
            return Problem("ESL052", "the pattern can never match", _ANCHORS)
        if "empty buffer" in reason:
            return Problem(
                "ESL051", "the pattern matches the empty text: every line", "name what must be there"
            )
        # The message's index counts bytes of the engine's input; the finding needs the character.
        said = re.sub(
            r",? (?:started |starting |encountered )?at (?:end of input, )?index [0-9]*", "", reason
        )
        message = f"a stream cannot be searched with it: {said.rstrip('.')}"
        hint = (
            _ANCHORS
            if "anchors" in reason
            else r"write \d, \w, \s or [A-Za-z]"
            if "POSIX" in reason
            else _OTHER
        )
        return Problem("ESL053", message, hint, part=_place(text, reason))
    return None


def _re2(text: str) -> Problem | None:
    options = re2.Options()
    options.log_errors = False
    try:
        re2.compile(text, options)
    except re2.error as error:
        reason = error.args[0] if error.args else ""
        reason = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        message = f"RE2, which runs it on some machines, refuses it: {reason}"
        return Problem("ESL053", message, _OTHER, part=_place(text, reason))
    return None
