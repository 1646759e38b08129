"""Logs as text, diagnosed as ``whesl why`` does."""

from __future__ import annotations

import msgspec

from whesl.diagnose.diagnosing import shipped
from whesl.diagnose.ranking import diagnose
from whesl.diagnose.records import Accounting, Diagnosis
from whesl.diagnose.scanner import Scanner


def why(*files: str, accounting: Accounting | None = None) -> Diagnosis:
    """Diagnose logs that are given as text."""
    scanner = Scanner(shipped())
    for number, text in enumerate(files):
        scanner.begin(f"{number}.log")
        scanner.feed(text.encode())
        scanner.finish()
    return diagnose(msgspec.structs.replace(scanner.observed(), accounting=accounting))


def told(*files: str) -> tuple[str, int]:
    """Return the class of the cause and its line; ("", 0) where none is named."""
    cause = why(*files).cause
    if cause is None:
        return "", 0
    assert cause.finding.entry.cause_class is not None
    return cause.finding.entry.cause_class.value, cause.finding.line
