"""Translates SQLite's errors to the user's words (full, damaged, read-only, busy), each with advice."""

from __future__ import annotations

import errno
import os
import re
import sqlite3
import tempfile
from pathlib import Path

from whesl.model.errors import WheslError


class JournalError(WheslError):
    """The journal cannot be written or read. A failed call has written nothing.

    ``reason`` is one of full, damaged, read-only, busy, input-output, foreign-writer, missing, closed.
    ``readable_after``: records after this number are readable nevertheless; 0: none is.
    """

    def __init__(self, message: str, *, reason: str, hint: str = "", readable_after: int = 0) -> None:
        super().__init__(message, hint=hint)
        self.reason = reason
        self.readable_after = readable_after


DAMAGED = "start its daemon again: it keeps what is readable and puts the damaged file aside"
# Exceptions of sqlite3 for a damaged file; the last two come from impossible sizes and from invalid text.
UNREADABLE = (sqlite3.Error, MemoryError, UnicodeDecodeError)
# ENOSPC, EDQUOT
FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
# Bytes of a test write, which shows whether a full disk was the cause of a failed write.
_PROBE = 64 * 1024

# SQLite's codes for errors of system calls (https://sqlite.org/rescode.html), which Python reports from
# version 3.11 on; SQLite's integrity check prints them for a page that it cannot read.
_INPUT_OUTPUT = 10
_CANNOT_OPEN = 14
_CODE_IN_CHECK = re.compile(r"error code=(\d+)")

# Parts of SQLite's messages, with their meanings.
_MEANINGS = (
    ("full", "is full", "the file system is full", "make room, or set WHESL_HOME to another file system"),
    (
        "read-only",
        "readonly",
        "the file or its directory is read-only",
        "make both writable for yourself, or set WHESL_HOME elsewhere",
    ),
    (
        "read-only",
        "unable to open",
        "it could not be opened",
        "check that the directory exists and is writable, and your quota",
    ),
    ("damaged", "malformed", "the file is damaged", DAMAGED),
    ("damaged", "not a database", "the file is not a journal", DAMAGED),
    ("damaged", "no such table", "the file is damaged", DAMAGED),
    ("damaged", "no such column", "the file is damaged", DAMAGED),
    ("damaged", "unsupported file format", "the file is damaged", DAMAGED),
    ("damaged", "too big", "the file is damaged", DAMAGED),
    ("busy", "locked", "another process holds it", "look for a second daemon with the same WHESL_HOME"),
    (
        "busy",
        "locking protocol",
        "the file system gives no locks",
        "set WHESL_HOME to a file system with POSIX locks (Lustre: mounted with flock)",
    ),
)


def translated(error: Exception, path: Path, doing: str) -> JournalError:
    """Translate an error of SQLite to a JournalError.

    Args:
        error: an exception of sqlite3 (``UNREADABLE``).
        path: the journal's file.
        doing: the failed call in words, as in "write to".
    """
    text = str(error) if isinstance(error, sqlite3.Error) else "malformed"
    if "I/O" in text and no_room(path.parent):
        # SQLite reports only ENOSPC as full; an exceeded quota (EDQUOT) is an "I/O error".
        text = "is full"
    if input_output(error):
        name = getattr(error, "sqlite_errorname", "")
        text = f"{text} ({name})" if name else text
    for reason, part, meaning, hint in _MEANINGS:
        if part in text:
            return JournalError(f"could not {doing} the journal {path}: {meaning}", reason=reason, hint=hint)
    return JournalError(
        f"could not {doing} the journal {path}: {text}",
        reason="input-output",
        hint="check the file system that holds it, then start the daemon again",
    )


def input_output(error: Exception) -> bool:
    """Whether an error comes from a system call, so that it may pass when the file is opened again."""
    if not isinstance(error, sqlite3.OperationalError):
        return False
    code = getattr(error, "sqlite_errorcode", None)
    if code is None:
        return "disk I/O error" in str(error) or "unable to open" in str(error)
    return code & 0xFF in (_INPUT_OUTPUT, _CANNOT_OPEN)


def page_unread(verdict: str) -> bool:
    """Whether SQLite's check failed to read a page, which does not prove damage."""
    codes = _CODE_IN_CHECK.findall(verdict)
    return any(int(code) & 0xFF == _INPUT_OUTPUT for code in codes)


def no_room(directory: Path) -> bool:
    """Whether no file in a directory can grow, since the disk or the quota is full."""
    try:
        with tempfile.TemporaryFile(dir=directory) as file:
            file.write(bytes(_PROBE))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        return error.errno in FULL
    return False
