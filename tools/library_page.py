"""Print docs/library.md from the libraries themselves; a test compares the two.

Usage: python tools/library_page.py > docs/library.md
"""

from __future__ import annotations

import sys

from whesl import language
from whesl.language import library
from whesl.language.compiler import syntax
from whesl.language.compiler.parser import parse
from whesl.language.compiler.source import Source
from whesl.language.detections.job_exception import JobExceptionDetection
from whesl.language.detections.kinds import Detection
from whesl.language.detections.log import LogDetection
from whesl.language.detections.node import NodeDetection
from whesl.language.spec import ExceptionSpec
from whesl.language.tools import sample_comments
from whesl.language.tools.sample_comments import Notes

HEAD = """\
# Pattern library

Made by `tools/library_page.py` from the libraries in `whesl/language/library`; do not edit.

`INCLUDE "mpi"` brings the exceptions of a library into a specification; what is watched is what it uses,
and the [reference](esl-reference.md#include) says how. With each pattern stands who prints its line. The
libraries carry lines that each of their patterns has to find, and others that it must not; tests run them
with both engines, and over real system logs for false alarms.

All exceptions are declared for all jobs, with `ELSE FAIL` and without any recovery: what is done about them
is for your own rules to say.
"""


def page() -> str:
    """Return the text of the page."""
    return HEAD + "".join(_section(name) for name in library.names())


def _section(name: str) -> str:
    content = library.place(name).read_bytes()
    notes = sample_comments.read(content, name)
    spec = language.parse(content, str(library.place(name))).spec
    assert spec is not None
    text = f"\n## {name}\n\n{_about(content.decode())}\n"
    included = _included(content, name)
    if included:
        text += f"\nIncludes {' and '.join(f'[{other}](#{other})' for other in included)}.\n"
    return text + "".join(_told(exception, notes) for exception in spec.exceptions)


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


def _told(exception: ExceptionSpec, notes: Notes) -> str:
    """Return a paragraph on an exception and a line for each detection: a table would be too wide to read."""
    sources = {note.line: note.source for note in notes.detections}
    text = f"\n**`{exception.name}`** ({exception.level.value}). {notes.exceptions[exception.name].about}\n\n"
    for detection in exception.detections:
        found = ", ".join(f"`{words}`" for words in _found_by(detection))
        text += f"- {found}<br>{_plain(sources[detection.span.line])}\n"
    return text


def _found_by(detection: Detection) -> list[str]:
    if isinstance(detection, LogDetection):
        return [pattern.text for pattern in detection.patterns]
    if isinstance(detection, NodeDetection):
        return [f"NODE {detection.condition.value}"]
    assert isinstance(detection, JobExceptionDetection)
    severity = "" if detection.severity is None else f" SEVERITY {detection.severity}"
    return [f'JOB EXCEPTION "{detection.exception_type}"{severity}']


def _plain(text: str) -> str:
    """Return a source in which Markdown sees no emphasis."""
    return text.replace("*", "\\*")


if __name__ == "__main__":
    sys.stdout.write(page())
