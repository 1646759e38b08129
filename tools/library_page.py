"""Print docs/library.md from the libraries themselves; a test compares the two.

Usage: python tools/library_page.py > docs/library.md
"""

from __future__ import annotations

import sys

from whesl import esl
from whesl.esl import library, samples, syntax
from whesl.esl.parsing import parse
from whesl.esl.samples import Notes
from whesl.esl.source import Source
from whesl.esl.spec import (
    Detection,
    ExceptionSpec,
    JobExceptionDetection,
    LogDetection,
    NodeDetection,
)

HEAD = """\
# Pattern library

Made by `tools/library_page.py` from the libraries in `whesl/esl/library`; do not edit.

`INCLUDE "mpi"` brings the exceptions of a library into a specification; what is watched is what it uses,
and the [reference](esl-reference.md#include) says how. Each pattern names who prints its line. The
libraries carry lines that each of their patterns has to find, and others that it must not; tests run them
with both engines, and over real system logs for false alarms.

All exceptions are declared for all jobs, with `ELSE FAIL` and without any recovery: what is done about them
is yours to say.
"""


def page() -> str:
    """Return the text of the page."""
    return HEAD + "".join(_section(name) for name in library.names())


def _section(name: str) -> str:
    content = library.place(name).read_bytes()
    notes = samples.read(content, name)
    spec = esl.parse(content, str(library.place(name))).spec
    assert spec is not None
    text = f"\n## {name}\n\n{_about(content.decode())}\n"
    included = _included(content, name)
    if included:
        text += f"\nIncludes {' and '.join(f'[{other}](#{other})' for other in included)}.\n"
    if spec.exceptions:
        text += (
            "\n| exception | type | what it is | found by | printed by |\n| --- | --- | --- | --- | --- |\n"
        )
        text += "".join(_rows(exception, notes) for exception in spec.exceptions)
    return text


def _about(content: str) -> str:
    """Return the first comment lines of a file."""
    lines = []
    for line in content.splitlines():
        if not line.startswith("#"):
            break
        if "#:" not in line:
            lines.append(line.removeprefix("#").strip())
    return " ".join(lines)


def _included(content: bytes, name: str) -> list[str]:
    statements = parse(Source(content, name)).statements
    return [syntax.unquote(s.name) for s in statements if isinstance(s, syntax.Include)]


def _rows(exception: ExceptionSpec, notes: Notes) -> str:
    sources = {note.line: note.source for note in notes.detections}
    name, kind = f"`{exception.name}`", exception.level.value
    about = notes.exceptions[exception.name].about
    rows = ""
    for detection in exception.detections:
        found = ", ".join(_code(text) for text in _found_by(detection))
        rows += f"| {name} | {kind} | {about} | {found} | {_cell(sources[detection.span.line])} |\n"
        name = kind = about = ""
    return rows


def _found_by(detection: Detection) -> list[str]:
    if isinstance(detection, LogDetection):
        return [pattern.text for pattern in detection.patterns]
    if isinstance(detection, NodeDetection):
        return [f"NODE {detection.condition.value}"]
    assert isinstance(detection, JobExceptionDetection)
    severity = "" if detection.severity is None else f" SEVERITY {detection.severity}"
    return [f'JOB EXCEPTION "{detection.exception_type}"{severity}']


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _code(text: str) -> str:
    return f"`{_cell(text)}`"


if __name__ == "__main__":
    sys.stdout.write(page())
