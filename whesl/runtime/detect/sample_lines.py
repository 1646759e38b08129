"""The sample lines of a specification, run through the stream matcher that runs its patterns. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from whesl.language.pattern_and_stream_records import Pattern
from whesl.language.spec import Spec
from whesl.language.tools.sample_comments import Note, Notes
from whesl.runtime.detect.matcher import compile_patterns


@dataclass(frozen=True, slots=True)
class Failure:
    """A sample whose result differs from its comment: a sentence, and the sample's line in the file."""

    text: str
    line: int


def run(spec: Spec, notes: Notes, engine: str = "auto") -> tuple[int, list[Failure]]:
    """Run all sample lines of a file.

    Args:
        spec: the compiled file; included files have samples of their own, which do not run here.
        notes: the samples from the file's comments.
        engine: ``auto``, ``hyperscan`` or ``re2``.

    Returns:
        The number of lines that were run, and the failures.
    """
    by_line = dict(_detections(spec))
    failures: list[Failure] = []
    count = 0
    for note in notes.detections:
        patterns = by_line.get((note.exception, note.line), ())
        count += len(note.sees) + len(note.ignores)
        failures += _judge(note, patterns, engine)
    return count, failures


def _detections(spec: Spec) -> Iterator[tuple[tuple[str, int], tuple[Pattern, ...]]]:
    for exception in spec.exceptions:
        for detection in exception.detections:
            if detection.span.file is not None:
                continue
            key = (exception.name, detection.span.line)
            if (reads := detection.reads()) is not None:
                yield key, reads.patterns


def _judge(note: Note, patterns: tuple[Pattern, ...], engine: str) -> Iterator[Failure]:
    if not patterns:
        for sample in (*note.sees, *note.ignores):
            yield Failure(
                f"the detection of {note.exception} looks at no lines, so it has no samples", sample.line
            )
        return
    matcher = compile_patterns(patterns, engine)
    seen: set[int] = set()
    for sample in note.sees:
        found = matcher.open().feed(sample.text.encode() + b"\n", 0)
        seen.update(match.pattern for match in found)
        if not found:
            yield Failure(f"{note.exception} does not see: {sample.text}", sample.line)
    for sample in note.ignores:
        for match in matcher.open().feed(sample.text.encode() + b"\n", 0):
            shown = matcher.patterns[match.pattern].text
            yield Failure(f"{note.exception} does not ignore: {sample.text} (found by {shown})", sample.line)
    if note.sees:
        for index, pattern in enumerate(patterns):
            if index not in seen:
                yield Failure(f"no sample of {note.exception} is found by {pattern.text}", note.line)
