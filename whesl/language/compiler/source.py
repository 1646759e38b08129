"""The text of a specification: from any bytes to characters, and from offsets to files, lines and columns.

A specification and the files that it includes share one range of offsets: the specification's own text comes
first, each included text after it. So one number gives a word's file and its place in that file.
"""

from __future__ import annotations

import bisect
import codecs
import re
from dataclasses import dataclass, field

from whesl.language.diagnostics import LINE_END, Findings, Place, Range
from whesl.language.pattern_and_stream_records import Span

MAX_BYTES = 10 * 1024 * 1024

_WIDE = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_AS_UTF8 = "save the file as UTF-8 text"
# The start of a line that is neither blank nor a comment.
_WRITTEN = re.compile(r"^[ \t]*(?=[^\s#])", re.MULTILINE)
# The first word of a statement, in any case and with common misspellings; Python's "except" does not match.
_STATEMENT = re.compile(r"^[ \t]*(?:decl|dclar|exceptio|excepton|inclu)", re.MULTILINE | re.IGNORECASE)
_FEW = 3  # up to this many lines without a statement are explained one by one, as slips of a beginner


@dataclass
class Part:
    """One file of the text, from offset ``start`` to before ``end``.

    ``parent`` is the including file, None for the specification; ``starts`` are the offsets of the lines.
    """

    file: str
    start: int
    end: int
    parent: Part | None = None
    readable: bool = True
    starts: list[int] = field(default_factory=list)


class Source:
    """The texts of a file and of the files it includes, and the offsets of their lines.

    Columns count characters; a tab is one.

    Args:
        content: the file's bytes, or its text.
        file: the file's name, for findings.

    Errors of the bytes are added to ``findings``; ``readable`` is False where the text cannot be parsed.
    """

    def __init__(self, content: bytes | str, file: str) -> None:
        self.file = file
        self.text = ""
        self.parts: list[Part] = []
        self.findings = Findings(self.locate)
        self.readable = self.append(content, file).readable

    def append(self, content: bytes | str, file: str, parent: Part | None = None) -> Part:
        """Append a file's text; errors of its bytes are added to the findings.

        Args:
            content: the file's bytes, or its text.
            file: the file's name, for findings.
            parent: the including file, None for the specification itself.
        """
        if self.parts:
            self.text += "\n"  # so that no token spans two files
        base = len(self.text)
        part = Part(file=file, start=base, end=base, parent=parent, starts=[base])
        self.parts.append(part)
        size = len(content)
        if size > MAX_BYTES:
            self.findings.add(
                "ESL002",
                f"the file has {size} bytes; a specification has at most {MAX_BYTES}",
                Range(base, base),
                hint="is this the right file?",
            )
            part.readable = False
            return part
        text, bad = self._decode(content, part)
        self.text += text
        part.end = len(self.text)
        part.starts += [base + match.end() for match in LINE_END.finditer(text)]
        if bad is not None:
            message, at = bad
            self.findings.add("ESL001", message, Range(base + at, base + at + 1), hint=_AS_UTF8)
        self._check_characters(text, part)
        if part.readable:
            self._check_language(text, part)
        return part

    def _decode(self, content: bytes | str, part: Part) -> tuple[str, tuple[str, int] | None]:
        """Return the text, and the error of the bytes with its offset, None for sound bytes."""
        if isinstance(content, str):
            # A lone surrogate has no encoding, so it cannot come from a file.
            text = content.encode("utf-8", "replace").decode("utf-8")
            bad = None if text == content else ("the text has characters that cannot be encoded", 0)
            return text.removeprefix("\N{BYTE ORDER MARK}"), bad
        if content.startswith(_WIDE):
            part.readable = False
            return "", ("the file is UTF-16 or UTF-32 text", 0)
        content = content.removeprefix(codecs.BOM_UTF8)
        try:
            return content.decode("utf-8"), None
        except UnicodeDecodeError as error:
            at = len(content[: error.start].decode("utf-8"))
            message = f"byte 0x{content[error.start]:02x} is not UTF-8 text"
            return content.decode("utf-8", "replace"), (message, at)

    def _check_characters(self, text: str, part: Part) -> None:
        offset = text.find("\0")
        if offset >= 0:
            at = part.start + offset
            self.findings.add(
                "ESL001", "the file has NUL characters: it is not text", Range(at, at + 1), hint=_AS_UTF8
            )
            part.readable = False

    def _check_language(self, text: str, part: Part) -> None:
        """Report a file of another language (a study, a script) once, instead of an error in each line."""
        if _STATEMENT.search(text):
            return
        written = [match.end() for match, _ in zip(_WRITTEN.finditer(text), range(_FEW + 1), strict=False)]
        if len(written) <= _FEW:
            return
        at = part.start + written[0]
        self.findings.add(
            "ESL008",
            "this is no specification: no line begins with DECLARE, EXCEPTION or INCLUDE",
            Range(at, at + 1),
            hint="is it the right file? A first specification is in docs/tutorial.md",
        )
        part.readable = False

    def part(self, offset: int) -> Part:
        """Return the file that contains an offset."""
        if len(self.parts) == 1:
            return self.parts[0]
        return self.parts[bisect.bisect_right(self.parts, offset, key=lambda part: part.start) - 1]

    def included(self, offset: int) -> bool:
        """Whether an offset is in an included file."""
        return self.part(offset) is not self.parts[0]

    def texts(self) -> dict[str, str]:
        """Return the text of each file, by the file's name."""
        return {part.file: self.text[part.start : part.end] for part in self.parts}

    def overrides(self, first: int, second: int) -> bool:
        """Whether the file of the first offset includes that of the second one, or is the same file.

        Args:
            first: an offset.
            second: an offset.
        """
        wanted, part = self.part(first), self.part(second)
        while part is not wanted and part.parent is not None:
            part = part.parent
        return part is wanted

    def locate(self, start: int, end: int) -> Place:
        """Return the place of a range of offsets in its file.

        Args:
            start: the first offset.
            end: the offset behind the last character. The place ends on the line of ``start``, at least one
                column after its begin.
        """
        part = self.part(start)
        line, column = self.position(start)
        limit = part.starts[line] if line < len(part.starts) else part.end + 1
        return Place(
            file=part.file,
            part=self.parts.index(part),
            line=line,
            column=column,
            end_column=max(column + 1, column + min(end, limit) - start),
        )

    def position(self, offset: int) -> tuple[int, int]:
        """Return the line and column of an offset in its file, both from 1."""
        starts = self.part(offset).starts
        line = bisect.bisect_right(starts, offset)
        return line, offset - starts[line - 1] + 1

    def span(self, start: int, end: int) -> Span:
        """Return the span of a range of offsets; a span in an included file has that file's name.

        Args:
            start: the first offset.
            end: the offset behind the last character.
        """
        line, column = self.position(start)
        end_line, end_column = self.position(end)
        file = self.part(start).file if self.included(start) else None
        return Span(line=line, column=column, end_line=end_line, end_column=end_column, file=file)
