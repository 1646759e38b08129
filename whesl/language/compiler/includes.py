"""``INCLUDE``: reads other files, each once; their statements follow those of the including file."""

from __future__ import annotations

import dataclasses
import hashlib
import os
from pathlib import Path

from whesl.files.file_retry import retried
from whesl.files.regular_file import beginning
from whesl.language import library
from whesl.language.compiler import parser, syntax
from whesl.language.compiler.parser import Parsed
from whesl.language.compiler.source import MAX_BYTES, Part, Source
from whesl.language.compiler.syntax import From, Statement, Word, unquote

MAX_DEPTH = 8
MAX_FILES = 64


def parse(source: Source) -> Parsed:
    """Parse a text and all files that it includes; errors are added to the source's findings.

    A relative path starts from the directory of the including file. The texts of included files are appended
    to ``source``, so that a finding names the file and the line in it.
    """
    return _Inclusion(source).run()


def digest(content: bytes) -> str:
    """Return the digest of an included file's content."""
    return hashlib.blake2b(content, digest_size=20).hexdigest()


class _Inclusion:
    def __init__(self, source: Source) -> None:
        self._source = source
        self._findings = source.findings
        # Included files: real path, and the source given with INCLUDE.
        self._read: set[tuple[str, str]] = set()
        self._bytes = 0

    def run(self) -> Parsed:
        file = Path(self._source.file)
        whole = parser.parse(self._source)
        self._follow(whole, whole, file.parent, (os.path.realpath(file),), None)
        return whole

    def _follow(
        self, whole: Parsed, parsed: Parsed, directory: Path, above: tuple[str, ...], inherited: From | None
    ) -> None:
        """Read the files that one file includes, and the files that those include.

        Args:
            whole: collects the statements of all files.
            parsed: the statements of the including file.
            directory: the including file's directory, where its relative paths start.
            above: real paths of the chain of including files, from the specification to this one.
            inherited: the source for patterns that an INCLUDE above this file gives; None for none.
        """
        for statement in list(parsed.statements):
            if not isinstance(statement, syntax.Include):
                continue
            word = statement.name
            place = self._place(word, directory)
            if place is None:
                whole.incomplete = True
                continue
            path, file = place
            real = os.path.realpath(path)
            looks = inherited or statement.source
            key = (real, "" if looks is None else f"{looks.stream.value} {looks.path and looks.path.text}")
            if real in above:
                self._refuse(whole, word, "ESL019", f"{file} includes itself", _circle(above, real))
            elif key in self._read:
                continue
            elif len(above) > MAX_DEPTH:
                self._refuse(whole, word, "ESL019", f"files include each other more than {MAX_DEPTH} deep")
            elif len(self._read) >= MAX_FILES:
                self._refuse(whole, word, "ESL019", f"more than {MAX_FILES} files are included")
            else:
                self._read.add(key)
                part = self._append(whole, word, path, file)
                if part is None or not part.readable:
                    whole.incomplete = True
                    continue
                inner = parser.parse(self._source, part)
                if looks is not None:
                    inner.statements = [_looking(statement, looks) for statement in inner.statements]
                whole.extend(inner)
                self._follow(whole, inner, path.parent, (*above, real), looks)

    def _place(self, word: Word, directory: Path) -> tuple[Path, str] | None:
        """Return the path of an included file and its name in findings; None for an unknown library."""
        name = unquote(word).strip()
        if not name or "\0" in name:
            self._findings.add("ESL047", "the name of what is included is empty", word)
            return None
        if library.is_path(name):
            path = directory / name
            return path, str(path)
        if name in library.names():
            return library.place(name), library.shown(name)
        near = self._findings.nearest(name, library.names())
        self._findings.add(
            "ESL017",
            f"there is no library {word.text[:40]}",
            word,
            hint=near
            or f"there are {', '.join(library.names())}; a path has a / or ends in {library.SUFFIX}",
        )
        return None

    def _append(self, whole: Parsed, word: Word, path: Path, file: str) -> Part | None:
        try:
            # One byte above the limit shows that the file is too large.
            content = retried(lambda: beginning(path, MAX_BYTES + 1))
        except (OSError, ValueError) as error:
            reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
            self._findings.add(
                "ESL018",
                f"{file} cannot be included: {reason}",
                word,
                hint=""
                if Path(file).is_absolute()
                else "a path starts from the directory of the file it stands in",
            )
            return None
        whole.included[os.path.realpath(path)] = digest(content)
        self._bytes += len(content)
        if self._bytes > MAX_BYTES:
            self._findings.add(
                "ESL018",
                f"all included files together have more than {MAX_BYTES} bytes",
                word,
                hint="are these the right files?",
            )
            return None
        return self._source.append(content, file, self._source.part(word.start))

    def _refuse(self, whole: Parsed, word: Word, code: str, message: str, hint: str = "") -> None:
        whole.incomplete = True
        self._findings.add(code, message, word, hint=hint or "include what you need directly")


def _looking(statement: Statement, source: From) -> Statement:
    """Return a statement whose patterns, if it has any, are searched in ``source``."""
    if isinstance(statement, syntax.Detected) and statement.form.source is not None:
        return dataclasses.replace(statement, form=dataclasses.replace(statement.form, source=source))
    return statement


def _circle(above: tuple[str, ...], real: str) -> str:
    names = [Path(path).name for path in (*above[above.index(real) :], real)]
    return f"{' -> '.join(names)}: take one of the statements out"
