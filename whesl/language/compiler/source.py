"""The text of a specification: from any bytes to characters, and from offsets to files, lines and columns.

A specification and the files that it includes share one range of offsets: the specification's own text comes
first, each included text after it. So one number says where a word stands, in whichever file it is.
"""

from __future__ import annotations

import bisect
import codecs
import re
from dataclasses import dataclass, field

from whesl.language.diagnostics import LINE_END, Findings, Place, Range
from whesl.language.patterns_and_places import Span

MAX_BYTES = 10 * 1024 * 1024

_WIDE = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_AS_UTF8 = "save the file as UTF-8 text"
# A line of something: neither blank nor a comment.
_WRITTEN = re.compile(r"^[ \t]*(?=[^\s#])", re.MULTILINE)
# What begins like a statement, in any case and with the usual slips; Python's "except" does not.
_STATEMENT = re.compile(r"^[ \t]*(?:decl|dclar|exceptio|excepton|inclu)", re.MULTILINE | re.IGNORECASE)
_FEW = 3  # so many lines without a statement may be the slips of a beginner: each is explained


@dataclass
class Part:
    """One file of the text, from offset ``start`` to before ``end``.

    ``parent`` is the file that includes it, ``starts`` are its lines' offsets.
    """

    file: str
    start: int
    end: int
    parent: Part | None = None
    readable: bool = True
    starts: list[int] = field(default_factory=list)


class Source:
    """A file's text and those of the files it includes, and where their lines are.

    Columns count characters; a tab is one.

    Args:
        content: the file's bytes, or its text.
        file: its name, for findings.

    What is wrong with the bytes is among ``findings``; ``readable`` says whether it makes sense to go on.
    """

    def __init__(self, content: bytes | str, file: str) -> None:
        self.file = file
        self.text = ""
        self.parts: list[Part] = []
        self.findings = Findings(self.locate)
        self.readable = self.append(content, file).readable

    def append(self, content: bytes | str, file: str, parent: Part | None = None) -> Part:
        """Take in a file's text after what there is; what is wrong with its bytes is among the findings."""
        if self.parts:
            self.text += "\n"  # no token reaches from one file into the next
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
        """Return the text, and what is wrong with the bytes and where."""
        if isinstance(content, str):
            # A lone surrogate cannot be written in any encoding, so it cannot come from a file.
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
        """Find another file than a specification (a study, a script), instead of an error in each line."""
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
        """Return the file that an offset stands in."""
        if len(self.parts) == 1:
            return self.parts[0]
        return self.parts[bisect.bisect_right(self.parts, offset, key=lambda part: part.start) - 1]

    def included(self, offset: int) -> bool:
        """Whether an offset stands in an included file."""
        return self.part(offset) is not self.parts[0]

    def texts(self) -> dict[str, str]:
        """Return the text of each file, by its name."""
        return {part.file: self.text[part.start : part.end] for part in self.parts}

    def overrides(self, first: int, second: int) -> bool:
        """Whether the file of one offset includes that of another, or is the same."""
        wanted, part = self.part(first), self.part(second)
        while part is not wanted and part.parent is not None:
            part = part.parent
        return part is wanted

    def locate(self, start: int, end: int) -> Place:
        """Return the place of a range; its end stays on the line, at least one further."""
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
        """Return the span from offset ``start`` to before ``end``; it it names an included file."""
        line, column = self.position(start)
        end_line, end_column = self.position(end)
        file = self.part(start).file if self.included(start) else None
        return Span(line=line, column=column, end_line=end_line, end_column=end_column, file=file)
