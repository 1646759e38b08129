"""Reads the known messages of programs: TOML files with a table for each message.

The files are separate from the pattern library: a symptom, a harmless message or a good end is no exception
that a rule could name, and an entry has properties that rules lack (role, class, advice, explaining classes).
Where the library has an exception for a message, the entry names it; a test checks that all messages of the
library are known.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from whesl.files.toml import load
from whesl.model.evidence import Advice, CauseClass
from whesl.runtime.diagnose.diagnosis_records import Entry
from whesl.runtime.diagnose.vocabulary import ADVICE, DEEPER, LASTING, STRENGTH, Role

_HINT = "docs/why.md says what a table of the knowledge has"


class _Table(msgspec.Struct, frozen=True):
    """A table of a file; ``whesl.runtime.diagnose.diagnosis_records.Entry`` explains its keys."""

    match: list[str]
    source: str
    means: str = ""
    role: Role = Role.CAUSE
    cls: CauseClass | None = msgspec.field(default=None, name="class")
    strength: int | None = None
    explained: list[CauseClass] = []
    advice: Advice | None = None
    general: bool = False
    lasting: bool | None = None
    fatal: bool = False
    survivable: bool = False
    report: bool = False
    below: str = ""
    by_words: bool = False
    exception: str = ""
    sees: list[str] = []
    ignores: list[str] = []


def entries(tables: Iterable[Path]) -> tuple[Entry, ...]:
    """Return all entries of some files in order; ``prepared_knowledge`` is made of them."""
    return tuple(entry for path in tables for entry in read(path))


def read(path: Path) -> tuple[Entry, ...]:
    """Return the entries of one file. Raises UsageError with all errors in the file."""
    document = load(path, _HINT)
    found = []
    for name, given in document.values.items():
        try:
            table = msgspec.convert(given, _Table)
        except msgspec.ValidationError as error:
            document.wrong(str(error), name)
            continue
        said = _wrong(table, given)
        if said:
            document.wrong(said, name)
            continue
        found.append(_entry(f"{path.stem}.{name}", table))
    document.check()
    return tuple(found)


def _wrong(table: _Table, given: dict[str, Any]) -> str:
    unknown = sorted(given.keys() - {field.encode_name for field in msgspec.structs.fields(_Table)})
    if unknown:
        return f"{unknown[0]!r} is not known here"
    if table.role in (Role.CAUSE, Role.SYMPTOM, Role.TOPIC) and (table.cls is None or not table.means):
        return "a cause, a symptom and a topic have a class and a sentence (means)"
    return ""


def _entry(name: str, table: _Table) -> Entry:
    library, _, exception = table.exception.rpartition(".")
    cause = table.cls
    default = ADVICE[cause] if cause is not None else Advice.UNKNOWN
    return Entry(
        name=name,
        role=table.role,
        cause_class=cause,
        match=tuple(table.match),
        means=table.means,
        source=table.source,
        strength=STRENGTH[table.role] if table.strength is None else table.strength,
        explained=frozenset(table.explained) or (DEEPER if table.by_words else frozenset()),
        advice=table.advice or default,
        general=table.general,
        lasting=cause in LASTING if table.lasting is None else table.lasting,
        fatal=table.fatal,
        survivable=table.survivable,
        report=table.report,
        below=table.below,
        by_words=table.by_words,
        library=library,
        exception=exception,
        sees=tuple(table.sees),
        ignores=tuple(table.ignores),
    )
