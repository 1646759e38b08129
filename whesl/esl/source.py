"""The text of a specification: from any bytes to characters, and from offsets to lines and columns."""

from __future__ import annotations

import bisect
import codecs
import re

from whesl.esl.diagnostics import Findings
from whesl.esl.spec import Span

MAX_BYTES = 10 * 1024 * 1024

_LINE_END = re.compile(r"\r\n|\n|\r")
_WIDE = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_AS_UTF8 = "save the file as UTF-8 text"


class Source:
    """A file's text, and where its lines are. Columns count characters; a tab is one.

    Args:
        content: the file's bytes, or its text.
        file: its name, for findings.

    What is wrong with the bytes is among ``findings``; ``readable`` says whether it makes sense to go on.
    """

    def __init__(self, content: bytes | str, file: str) -> None:
        self.file = file
        self.text = ""
        self.readable = True
        self._starts = [0]
        self.findings = Findings(file, self.locate)
        size = len(content)
        if size > MAX_BYTES:
            self.findings.add(
                "ESL002",
                f"the file has {size} bytes; a specification has at most {MAX_BYTES}",
                0,
                0,
                hint="is this the right file?",
            )
            self.readable = False
            return
        self.text = self._decode(content)
        self._starts += [match.end() for match in _LINE_END.finditer(self.text)]
        self._check_characters()

    def _decode(self, content: bytes | str) -> str:
        if isinstance(content, str):
            # A lone surrogate cannot be written in any encoding, so it cannot come from a file.
            text = content.encode("utf-8", "replace").decode("utf-8")
            if text != content:
                self.findings.add("ESL001", "the text has characters that cannot be encoded", 0, 0)
            return text.removeprefix("\N{BYTE ORDER MARK}")
        if content.startswith(_WIDE):
            self.findings.add("ESL001", "the file is UTF-16 or UTF-32 text", 0, 0, hint=_AS_UTF8)
            self.readable = False
            return ""
        content = content.removeprefix(codecs.BOM_UTF8)
        try:
            return content.decode("utf-8")
        except UnicodeDecodeError as error:
            good = content[: error.start].decode("utf-8")
            text = content.decode("utf-8", "replace")
            self._starts += [match.end() for match in _LINE_END.finditer(good)]
            self.findings.add(
                "ESL001",
                f"byte 0x{content[error.start]:02x} is not UTF-8 text",
                len(good),
                len(good) + 1,
                hint=_AS_UTF8,
            )
            del self._starts[1:]
            return text

    def _check_characters(self) -> None:
        offset = self.text.find("\0")
        if offset >= 0:
            self.findings.add(
                "ESL001", "the file has NUL characters: it is not text", offset, offset + 1, hint=_AS_UTF8
            )
            self.readable = False

    def locate(self, start: int, end: int) -> tuple[int, int, int]:
        """Return line, column and end column of a range; the end stays on the line, at least one further."""
        line, column = self.position(start)
        limit = self._starts[line] if line < len(self._starts) else len(self.text) + 1
        return line, column, max(column + 1, column + min(end, limit) - start)

    def position(self, offset: int) -> tuple[int, int]:
        """Return the line and column of an offset, both from 1."""
        line = bisect.bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def span(self, start: int, end: int) -> Span:
        """Return the span from offset ``start`` to before ``end``."""
        line, column = self.position(start)
        end_line, end_column = self.position(end)
        return Span(line=line, column=column, end_line=end_line, end_column=end_column)


def lines_of(content: bytes | str) -> list[str]:
    """Return the lines of a file as findings count them, for ``diagnostics.render``."""
    text = content if isinstance(content, str) else content.decode("utf-8", "replace")
    return _LINE_END.split(text.removeprefix("\N{BYTE ORDER MARK}"))
