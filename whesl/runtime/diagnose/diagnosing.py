"""From files to a diagnosis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import msgspec

from whesl.runtime.diagnose.diagnosis_records import Accounting, Diagnosis
from whesl.runtime.diagnose.prepared import prepared
from whesl.runtime.diagnose.ranking import diagnose, told_by_accounting
from whesl.runtime.diagnose.reading import lines_of_all, observe
from whesl.runtime.diagnose.scanner import Knowledge, Scanner
from whesl.runtime.diagnose.unusual import SHOWN, form, unusual
from whesl.runtime.diagnose.vocabulary import Outcome, Role


@lru_cache(maxsize=1)
def _shipped() -> tuple[Knowledge, Knowledge]:
    """Return the knowledge that comes with WHESL, compiled once for this process."""
    entries = prepared().entries
    endings = [entry for entry in entries if entry.role is Role.END]
    return Knowledge([entry for entry in entries if entry.role is not Role.END]), Knowledge(endings)


def scanner() -> Scanner:
    """Return the scanner that finds all known messages in logs."""
    return Scanner(*_shipped())


def diagnose_files(
    files: Sequence[str],
    accounting: Accounting | None = None,
    good: Sequence[str] = (),
    unread: Callable[[str], None] = lambda _: None,
) -> Diagnosis:
    """Say what a job died of.

    Args:
        files: its logs; ``-`` is standard input.
        accounting: what the resource manager says of it, where that is known.
        good: logs of the same work that ended well.
        unread: called with a sentence for each log that could not be read, or not to its end.

    Raises:
        UsageError: no file can be read.
    """
    reader = scanner()
    observed = msgspec.structs.replace(observe(files, reader, unread=unread), accounting=accounting)
    found = diagnose(observed)
    if accounting is not None:
        found = msgspec.structs.replace(found, told=accounting.told)
        if found.cause is None:
            found = told_by_accounting(found, accounting)
    if found.outcome is not Outcome.UNKNOWN:
        return found
    forms = frozenset(map(form, lines_of_all(good)))
    lines = [
        (file, number, text)
        for file, tail in zip(files, reader.tails(), strict=True)
        for number, text in unusual(tail.lines(), forms)
    ]
    return msgspec.structs.replace(found, unusual=tuple(lines[-SHOWN:]))
