"""Reports of bad nodes by WHESL's tasks, read from a user's journal or `whesl nodes --json`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import msgspec

from whesl.model.errors import UsageError, WheslError
from whesl.model.workflow import BadNode
from whesl.runtime.journal.sqlite_errors import JournalError
from whesl.runtime.journal.store import Journal


class Seen(NamedTuple):
    """A report of a bad node: node, time in seconds since the epoch, grade, and the observer's details."""

    node: str
    time: float
    grade: str
    detail: str


def load(path: Path) -> list[Seen]:
    """Read the reports of bad nodes.

    Args:
        path: a WHESL home with a coordinator's journal, which may be in use, or a file with the output of
            ``whesl nodes --json``.

    Raises:
        WheslError: the file cannot be read.
        UsageError: ``path`` is neither.
    """
    if path.is_dir():
        return _journal(path)
    try:
        found = json.loads(path.read_bytes())["nodes"]
        rows = [msgspec.convert(row, BadNode) for row in found]
    except OSError as error:
        raise WheslError(f"cannot read {path}: {error.strerror or error}") from error
    except (ValueError, KeyError, TypeError, RecursionError, msgspec.ValidationError) as error:
        raise UsageError(
            f"{path} is not the output of `whesl nodes --json`: {error}", hint="or name a WHESL home"
        ) from error
    return [_seen(row, path.name) for row in rows]


def _journal(home: Path) -> list[Seen]:
    file = home / "coordinator" / "journal.db"
    who = _owner(file)
    found: list[Seen] = []
    try:
        with Journal(file, read_only=True) as journal:
            for record in journal.read(kinds=["bad-node"]):
                try:
                    bad = msgspec.convert(record.data["bad_node"], BadNode)
                except (KeyError, msgspec.ValidationError):
                    continue  # the record is of another version
                found.append(_seen(bad, who))
    except JournalError as error:
        if error.reason == "missing":
            raise UsageError(f"{home} is no WHESL home with a coordinator's journal") from error
        raise WheslError(f"cannot read {file}: {error.message}") from error
    return found


def _owner(path: Path) -> str:
    try:
        return path.owner()
    except (OSError, KeyError):
        return path.parent.parent.name


def _seen(bad: BadNode, who: str) -> Seen:
    task = f", task {bad.task}" if bad.task else ""
    return Seen(
        bad.node, bad.time, bad.grade.value, f"seen by {bad.source} of {who}{task}: {bad.reason}"[:300]
    )
