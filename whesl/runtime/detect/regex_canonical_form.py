r"""Patterns in one canonical form that hyperscan, google-re2 and PCRE read alike.

A regular expression is in the common subset of the three engines, rewritten to remove their differences:
every character that is not alphanumeric becomes ``\xHH``; ``\s`` and similar classes become explicit classes
(those of re2 lack the vertical tab); a character outside ASCII becomes the group of its UTF-8 bytes; no class
contains the line feed. Matching is on bytes and case-sensitive, unless ``(?i)`` stands first; ``^`` and ``$``
are the ends of a line. Refused, with a reason: back references, look-around, possessive and atomic groups,
other flags, POSIX classes, line breaks, repeats above 1000, and expressions that match without consuming a
byte, since they would match every line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from whesl.language.pattern_and_stream_records import Pattern
from whesl.model.errors import UsageError

MAX_LITERAL = 2048  # bytes
MAX_REPEAT = 1000  # re2's own limit

_ALNUM = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
_REPEAT = re.compile(r"\{(\d{1,9})(,(\d{0,9}))?\}")
_GROUP = re.compile(r"\(\?(?::|i:|P<[A-Za-z_][A-Za-z0-9_]*>)")
_HEX = re.compile(r"[0-9a-fA-F]{2}")
_CONTROL = {"t": 9, "v": 11, "f": 12, "a": 7}
_BREAK = {"n": 10, "r": 13}
# The content of classes. None contains the line feed, so that no expression reaches beyond a line's end.
_CLASSES = {
    "d": r"\x30-\x39",
    "D": r"\x00-\x09\x0b-\x2f\x3a-\xff",
    "w": r"\x30-\x39\x41-\x5a\x5f\x61-\x7a",
    "W": r"\x00-\x09\x0b-\x2f\x3a-\x40\x5b-\x5e\x60\x7b-\xff",
    "s": r"\x09\x0b-\x0d\x20",
    "S": r"\x00-\x08\x0e-\x1f\x21-\xff",
}


class PatternError(UsageError):
    """A pattern that the stream matcher cannot run; the message says which and why."""


@dataclass(frozen=True)
class Canonical:
    """A pattern ready for an engine.

    ``expression`` is pure ASCII. ``literal`` holds the bytes to find when it is not a regular expression.
    ``groups`` maps each named group to its number.
    """

    expression: bytes
    literal: bytes | None
    groups: dict[str, int]


def canonical(pattern: Pattern) -> Canonical:
    """Return a pattern's canonical form. Raises PatternError."""
    try:
        if not pattern.regex:
            return _literal(pattern.text)
        return _Translation(pattern.text).result()
    except _UnreadableError as error:
        raise PatternError(f"pattern {pattern.text!r}: {error.reason}", hint=error.hint) from None


class _UnreadableError(Exception):
    def __init__(self, reason: str, hint: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.hint = hint


def _literal(text: str) -> Canonical:
    data = _encode(text)
    if not data:
        raise _UnreadableError("is empty")
    if len(data) > MAX_LITERAL:
        raise _UnreadableError(f"is longer than {MAX_LITERAL} bytes")
    if b"\n" in data or b"\r" in data:
        raise _UnreadableError("contains a line break", "patterns are matched within one line")
    return Canonical("".join(map(_byte, data)).encode("ascii"), data, {})


def _encode(text: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        raise _UnreadableError("is not valid Unicode text") from None


def _byte(value: int) -> str:
    return chr(value) if chr(value) in _ALNUM else f"\\x{value:02x}"


@dataclass
class _Translation:
    """One pass over the text. ``bare`` is the same expression with its assertions taken out."""

    text: str
    position: int = 0
    out: list[str] = field(default_factory=list)
    bare: list[str] = field(default_factory=list)
    quantified: bool = True  # a quantifier would have no preceding element
    ignore_case: bool = False
    high: bool = False  # the element is a byte above 0x7f

    def result(self) -> Canonical:
        if self.text.startswith("(?i)"):
            self.position = 4
            self.ignore_case = True
            self._emit("(?i)")
        while self.position < len(self.text):
            self._item(self.text[self.position])
        expression = "".join(self.out).encode("ascii")
        try:
            # Python's engine reads the expression, for errors and group numbers; it never runs it
            # on a log, since it may take exponential time.
            groups = dict(re.compile(expression).groupindex)
            empty = re.compile("".join(self.bare).encode("ascii")).match(b"") is not None
        except (re.error, OverflowError, RecursionError) as error:
            raise _UnreadableError(f"is not a valid regular expression ({error})") from None
        if empty:
            raise _UnreadableError("can match without any text", "it would be found in every line")
        if self.ignore_case and self.high:
            raise _UnreadableError("combines (?i) with characters outside ASCII", "list both cases instead")
        return Canonical(expression, None, groups)

    def _emit(self, piece: str, bare: str | None = None) -> None:
        self.out.append(piece)
        self.bare.append(piece if bare is None else bare)

    def _item(self, char: str) -> None:
        if char in "*+?{" and self._quantifier(char):
            return
        if char == "\\":
            self._escape()
        elif char == "[":
            self._class()
        elif char == "(":
            self._open()
            self.quantified = True
            return
        elif char in "^$":
            self.position += 1
            self._emit(char, "(?:)")
        elif char in ".)|":
            self.position += 1
            self._emit(char)
            self.quantified = char == "|"
            return
        else:
            self.position += 1
            self._character(char)
        self.quantified = False

    def _quantifier(self, char: str) -> bool:
        piece = char
        if char == "{":
            if self.text.startswith("{,", self.position):
                raise _UnreadableError("'{,' is read differently by the engines", "write {0,n}, or \\{")
            match = _REPEAT.match(self.text, self.position)
            if match is None:
                return False
            if max(int(match[1]), int(match[3] or 0)) > MAX_REPEAT:
                raise _UnreadableError(f"repeats more than {MAX_REPEAT} times")
            piece = match[0]
        if self.quantified:
            raise _UnreadableError(f"{piece!r} has nothing to repeat", f"write \\{char} for the character")
        self.position += len(piece)
        if self.text.startswith("?", self.position):
            piece += "?"
            self.position += 1
        self._emit(piece)
        self.quantified = True
        return True

    def _open(self) -> None:
        if not self.text.startswith("(?", self.position):
            self.position += 1
            self._emit("(")
            return
        match = _GROUP.match(self.text, self.position)
        if match is None:
            raise _UnreadableError(
                f"{self.text[self.position : self.position + 4]!r} is not supported",
                "use (?:...), (?P<name>...), (?i:...), or (?i) at the start",
            )
        self.ignore_case = self.ignore_case or match[0] == "(?i:"
        self.position = match.end()
        self._emit(match[0])

    def _escape(self) -> None:
        char = self.text[self.position + 1 : self.position + 2]
        if char in _BREAK:
            raise _UnreadableError(f"'\\{char}' never matches within one line", "use ^ and $")
        if char and char in "bB":
            self.position += 2
            self._emit("\\" + char, "(?:)")
            return
        item = self._escaped()
        if isinstance(item, int):
            self._emit(_byte(item))
        else:
            self._emit(f"[{item}]")

    def _escaped(self) -> int | str:
        """Read one escape; return a byte, or the inside of a class."""
        char = self.text[self.position + 1 : self.position + 2]
        self.position += 2
        if not char:
            raise _UnreadableError("ends with a backslash")
        if char in _CLASSES:
            return _CLASSES[char]
        if char in _CONTROL or char in _BREAK:
            return _CONTROL.get(char, _BREAK.get(char, 0))
        if char == "x":
            match = _HEX.match(self.text, self.position)
            if match is None:
                raise _UnreadableError("'\\x' needs two hexadecimal digits")
            self.position += 2
            return self._noted(int(match[0], 16))
        if char.isascii() and char not in _ALNUM:
            return ord(char)
        raise _UnreadableError(f"'\\{char}' is not supported")

    def _noted(self, value: int) -> int:
        self.high = self.high or value > 0x7F
        return value

    def _character(self, char: str) -> None:
        if char in "\r\n":
            raise _UnreadableError("contains a line break", "patterns are matched within one line")
        data = _encode(char)
        piece = "".join(_byte(self._noted(value)) for value in data)
        self._emit(piece if len(data) == 1 else f"(?:{piece})")

    def _class(self) -> None:
        self.position += 1
        piece = "["
        if self.text.startswith("^", self.position):
            self.position += 1
            piece += r"^\x0a"
        first = True
        while first or not self.text.startswith("]", self.position):
            first = False
            low = self._member()
            ranged = self.text.startswith("-", self.position) and self.text[self.position + 1 :][:1] != "]"
            if not ranged:
                piece += low if isinstance(low, str) else _byte(low)
                continue
            self.position += 1
            high = self._member()
            if isinstance(low, str) or isinstance(high, str):
                raise _UnreadableError("a range in [...] must go from one character to another")
            piece += f"{_byte(low)}-{_byte(high)}"
        self.position += 1
        self._emit(piece + "]")

    def _member(self) -> int | str:
        char = self.text[self.position : self.position + 1]
        if not char:
            raise _UnreadableError("has a '[' without ']'")
        if char == "\\":
            return self._escaped()
        if self.text.startswith("[:", self.position):
            raise _UnreadableError("POSIX classes such as [:digit:] are not supported", "use \\d, \\w, \\s")
        if not char.isascii():
            raise _UnreadableError(f"{char!r} cannot stand in [...]", "use an alternation: (?:a|b)")
        self.position += 1
        return ord(char)
