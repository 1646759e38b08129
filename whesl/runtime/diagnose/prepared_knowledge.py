"""The prepared knowledge, which a process reads quickly at its start: entries and their needles.

``make knowledge`` makes ``knowledge/prepared.json`` from the tables beside it. Where a table has changed
since then, the tables are read instead.
"""

from __future__ import annotations

import contextlib
import re
import zlib
from functools import cache, lru_cache
from pathlib import Path

import msgspec

from whesl.files.decode_errors import UNDECODABLE
from whesl.runtime.diagnose.diagnosis_records import Entry
from whesl.runtime.diagnose.search.required_literals import Needle
from whesl.runtime.diagnose.vocabulary import NOT_SOUGHT

DIRECTORY = Path(__file__).parent / "knowledge"
FILE = DIRECTORY / "prepared.json"


class Prepared(msgspec.Struct, frozen=True, kw_only=True):
    """Entries, and the needles of their expressions.

    Attributes:
        made_of: checksum of the tables and of the module that finds needles.
        entries: all entries, in the order of files and tables.
        needles: the needles of each expression.
    """

    made_of: int
    entries: tuple[Entry, ...]
    needles: dict[str, tuple[Needle, ...]]


@lru_cache(maxsize=1)
def prepared() -> Prepared:
    """Return WHESL's knowledge. Raises UsageError with all errors in a table."""
    with contextlib.suppress(OSError, *UNDECODABLE):
        found = msgspec.json.decode(FILE.read_bytes(), type=Prepared)
        if found.made_of == checksum():
            return found
    return made()


@cache
def words(table: str) -> re.Pattern[str]:
    """Return the expressions of a table of ``knowledge/words.toml`` as one."""
    entry = next(entry for entry in prepared().entries if entry.name == f"words.{table}")
    return re.compile("|".join(entry.match), re.IGNORECASE)


def made() -> Prepared:
    """Return WHESL's knowledge, made from the tables."""
    from whesl.runtime.diagnose import knowledge_reader
    from whesl.runtime.diagnose.search.required_literals import needles

    entries = knowledge_reader.entries(_tables())
    return Prepared(
        made_of=checksum(),
        entries=entries,
        needles={
            text: needles(text) for entry in entries if entry.role not in NOT_SOUGHT for text in entry.match
        },
    )


def checksum() -> int:
    """Return a checksum of the tables and of the module that finds needles."""
    own = ("knowledge_reader", "search/required_literals", "diagnosis_records", "vocabulary")
    files = (*_tables(), *(DIRECTORY.parent / f"{name}.py" for name in own))
    return zlib.crc32(b"\0".join(path.name.encode() + b"\0" + path.read_bytes() for path in files))


def _tables() -> list[Path]:
    return sorted(DIRECTORY.glob("*.toml"))


def encoded(found: Prepared) -> bytes:
    """Return the content of the prepared file: a line for each entry and each expression, sets sorted."""
    entries = b",\n".join(map(_encoded, found.entries))
    needles = b",\n".join(
        msgspec.json.encode(text) + b":" + msgspec.json.encode(value) for text, value in found.needles.items()
    )
    return b'{"made_of":%d,\n"entries":[\n%s\n],\n"needles":{\n%s\n}}\n' % (found.made_of, entries, needles)


def _encoded(entry: Entry) -> bytes:
    row = msgspec.to_builtins(entry)
    return msgspec.json.encode(row | {"explained": sorted(row["explained"])})
