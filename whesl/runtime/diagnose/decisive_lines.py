"""Lines that tell what a running job dies of: broken GPUs, a broken fabric, lost nodes.

No program mends these by itself, and ranks often wait for each other for long after such a line. Of other
classes a program may go on after the line, so that only the end of the attempt tells.
"""

from __future__ import annotations

from whesl.language.patterns_and_places import Pattern
from whesl.language.spec import Spec
from whesl.model.evidence import Cause, CauseClass
from whesl.runtime.diagnose.attempt_process import cause
from whesl.runtime.diagnose.diagnosing import scanner
from whesl.runtime.diagnose.diagnosis_records import Entry
from whesl.runtime.diagnose.prepared import prepared
from whesl.runtime.diagnose.ranking import diagnose
from whesl.runtime.diagnose.vocabulary import Role

CLASSES = frozenset({CauseClass.GPU, CauseClass.FABRIC, CauseClass.NODE})
_CLEAR = 80  # strength of a message that says by itself what the job dies of


class DecisiveLines:
    """The messages of these classes that the knowledge has."""

    def __init__(self) -> None:
        texts = [text for entry in prepared().entries if _decisive(entry) for text in entry.match]
        self.patterns = tuple(Pattern(text=text, regex=True) for text in dict.fromkeys(texts))

    def cause(self, line: str, file: str) -> Cause | None:
        """Return what a line tells; None where it is a warning, or another message explains it.

        Args:
            line: as it stands in the file.
            file: its path.
        """
        reader = scanner()
        reader.begin(file)
        reader.feed(line.encode() + b"\n")
        reader.finish()
        found = diagnose(reader.observed())
        first = found.cause
        if first is None or first.finding.warned or not _decisive(first.finding.entry):
            return None
        return cause(found)


def of(spec: Spec) -> DecisiveLines | None:
    """Return the lines that detections of a specification wait for; None where none does."""
    waits = any(
        CLASSES & set(getattr(detection, "classes", ()))
        for exception in spec.exceptions
        for detection in exception.detections
        if detection.of_causes
    )
    return DecisiveLines() if waits else None


def _decisive(entry: Entry) -> bool:
    known = entry.role is Role.CAUSE and not (entry.general or entry.by_words or entry.report)
    return known and entry.cause_class in CLASSES and entry.strength >= _CLEAR
