"""Reads the known messages of programs: TOML files with a table for each message.

The files are separate from the pattern library: a symptom, a harmless message or a good end is no exception
that a rule could name, and an entry has properties that rules lack (role, class, advice, explaining classes).
Where the library has an exception for a message, the entry names it; a test checks that all messages of the
library are known.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from whesl.files.toml import load
from whesl.model.evidence import Advice
from whesl.runtime.diagnose.diagnosis_records import Entry
from whesl.runtime.diagnose.vocabulary import ADVICE, DEEPER, LASTING, STRENGTH, Role

_HINT = "docs/why.md says what a table of the knowledge has"


def entries(tables: Iterable[Path]) -> tuple[Entry, ...]:
    """Return all entries of some files in order; ``prepared_knowledge`` is made of them."""
    return tuple(entry for path in tables for entry in read(path))


def read(path: Path) -> tuple[Entry, ...]:
    """Return the entries of one file. Raises UsageError with all errors in the file."""
    document = load(path, _HINT)
    found = []
    for name, given in document.values.items():
        try:
            table = msgspec.convert(given, dict[str, Any])
            entry = msgspec.convert(table | {"name": f"{path.stem}.{name}"}, Entry)
            said = _incomplete(entry)
        except msgspec.ValidationError as error:
            said = str(error)
        if said:
            document.wrong(said, name)
            continue
        found.append(_with_usual(entry, given))
    document.check()
    return tuple(found)


def _incomplete(entry: Entry) -> str:
    if entry.role in (Role.CAUSE, Role.SYMPTOM, Role.TOPIC) and (
        entry.cause_class is None or not entry.means
    ):
        return "a cause, a symptom and a topic have a class and a sentence (means)"
    return ""


def _with_usual(entry: Entry, given: Mapping[str, Any]) -> Entry:
    """Return an entry; the values that its table lacks are the defaults of the entry's role and class."""
    library, _, exception = entry.exception.rpartition(".")
    cause = entry.cause_class
    usual = {
        "strength": STRENGTH[entry.role],
        "explained": DEEPER if entry.by_words else frozenset(),
        "advice": Advice.UNKNOWN if cause is None else ADVICE[cause],
        "lasting": cause in LASTING,
    }
    chosen = {key: value for key, value in usual.items() if key not in given}
    return msgspec.structs.replace(entry, library=library, exception=exception, **chosen)
