"""What the authors of a specification say about its patterns, in comments of a fixed form.

Lines that begin with ``#:`` and stand directly above a statement belong to it::

    #: A rank called MPI_Abort.                                  above DECLARE EXCEPTION: what it is
    #: source open-mpi/ompi v4.1.8, ompi/mpi/help-mpi-api.txt          above a detection: who prints the line
    #: sees MPI_ABORT was invoked on rank 1 in communicator ...  a line that the detection is to find
    #: ignores NOTE: invoking MPI_ABORT causes ...               a line that it must not find

The shipped libraries are held to it by tests, files of a site by ``whesl check --samples``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from whesl.language.compiler import parser, syntax
from whesl.language.compiler.source import Source
from whesl.language.diagnostics import lines_of

_KINDS = ("source", "sees", "ignores")
_SAMPLE = re.compile(r"[ \t]*#:(.*)\Z")


@dataclass(frozen=True, slots=True)
class Sample:
    """A line, and the line of the file that it stands in, from 1."""

    text: str
    line: int


@dataclass(frozen=True, slots=True)
class Note:
    """The comments about one statement, which begins on ``line``."""

    exception: str
    line: int
    about: str = ""
    source: str = ""
    sees: tuple[Sample, ...] = ()
    ignores: tuple[Sample, ...] = ()


@dataclass(frozen=True, slots=True)
class Notes:
    """What a file says about its exceptions, by name, and about its detections, in their order."""

    exceptions: dict[str, Note]
    detections: tuple[Note, ...]


def read(content: bytes | str, file: str) -> Notes:
    """Return what the comments of a specification say about its statements; a broken one has none."""
    source = Source(content, file)
    lines = lines_of(source.text)
    exceptions: dict[str, Note] = {}
    detections = []
    for statement in parser.parse(source).statements if source.readable else ():
        if isinstance(statement, syntax.Declared):
            line, _ = source.position(statement.start)
            exceptions.setdefault(statement.name.text, _note(lines, statement.name.text, line))
        elif isinstance(statement, syntax.Detected):
            line, _ = source.position(statement.start)
            detections.append(_note(lines, statement.exception.text, line))
    return Notes(exceptions, tuple(detections))


def _note(lines: list[str], exception: str, line: int) -> Note:
    found: dict[str, list[Sample]] = {kind: [] for kind in _KINDS}
    about: list[str] = []
    first = line - 1  # the statement's own index, below the comments
    while first > 0 and _SAMPLE.match(lines[first - 1]):
        first -= 1
    for number in range(first, line - 1):
        match = _SAMPLE.match(lines[number])
        assert match is not None
        kind, _, text = match.group(1).strip().partition(" ")
        if kind in _KINDS:
            found[kind].append(Sample(text.strip(), number + 1))
        else:
            about.append(match.group(1).strip())
    return Note(
        exception=exception,
        line=line,
        about=" ".join(about),
        source="; ".join(sample.text for sample in found["source"]),
        sees=tuple(found["sees"]),
        ignores=tuple(found["ignores"]),
    )
