"""From files to a diagnosis."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import msgspec

from whesl.diagnose import knowledge
from whesl.diagnose.ranking import diagnose
from whesl.diagnose.reading import observe
from whesl.diagnose.records import Accounting, Diagnosis
from whesl.diagnose.scanner import Knowledge, Scanner
from whesl.diagnose.vocabulary import Role


@lru_cache(maxsize=1)
def _shipped() -> tuple[Knowledge, Knowledge]:
    """Return the knowledge that comes with WHESL, compiled once for this process."""
    entries = knowledge.entries()
    endings = [entry for entry in entries if entry.role is Role.END]
    return Knowledge([entry for entry in entries if entry.role is not Role.END]), Knowledge(endings)


def scanner() -> Scanner:
    """Return what finds in logs whatever is known."""
    return Scanner(*_shipped())


def diagnose_files(files: Sequence[str], accounting: Accounting | None = None) -> Diagnosis:
    """Say what a job died of.

    Args:
        files: its logs; ``-`` is standard input.
        accounting: what the resource manager says of it, where that is known.

    Raises:
        UsageError: a file cannot be read.
    """
    observed = observe(files, scanner())
    return diagnose(msgspec.structs.replace(observed, accounting=accounting))
