"""Logs as text, diagnosed as ``whesl why`` does."""

from __future__ import annotations

import msgspec

from whesl.runtime.diagnose.diagnosing import scanner
from whesl.runtime.diagnose.diagnosis_records import Accounting, Diagnosis
from whesl.runtime.diagnose.ranking import diagnose


def why(*files: str, accounting: Accounting | None = None) -> Diagnosis:
    """Diagnose logs that are given as text."""
    reader = scanner()
    for number, text in enumerate(files):
        reader.begin(f"{number}.log")
        reader.feed(text.encode())
        reader.finish()
    return diagnose(msgspec.structs.replace(reader.observed(), accounting=accounting))


def told(*files: str) -> tuple[str, int]:
    """Return the class of the cause and its line; ("", 0) where none is named."""
    cause = why(*files).cause
    if cause is None:
        return "", 0
    assert cause.finding.entry.cause_class is not None
    return cause.finding.entry.cause_class.value, cause.finding.line
