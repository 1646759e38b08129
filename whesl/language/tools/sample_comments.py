"""Comments of a fixed form, in which authors describe the patterns of a specification.

Lines that begin with ``#:`` directly above a statement belong to that statement::

    #: A rank called MPI_Abort.                                  above DECLARE EXCEPTION: its meaning
    #: source open-mpi/ompi v4.1.8, ompi/mpi/help-mpi-api.txt    above a detection: the program's source
    #: sees MPI_ABORT was invoked on rank 1 in communicator ...  a line that the detection has to find
    #: ignores NOTE: invoking MPI_ABORT causes ...               a line that the detection must not find

Tests check the sample lines of the shipped libraries, ``whesl check --samples`` those of a site's files.
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
    """A sample line, and the number of the file's line that contains it, from 1."""

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
    """The notes of a file about its exceptions, by name, and about its detections, in their order."""

    exceptions: dict[str, Note]
    detections: tuple[Note, ...]


def read(content: bytes | str, file: str) -> Notes:
    """Return the notes in the comments of a specification; a statement with errors has no note.

    Args:
        content: the file's bytes or text.
        file: the file's name.
    """
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
    first = line - 1  # index of the statement's line, below the comments
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
