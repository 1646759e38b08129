"""The server's present records in a SQLite file, written before the server acts on them."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable
from typing import TypeVar
from urllib.parse import quote

import msgspec

from whesl.files.decode_errors import UNDECODABLE
from whesl.managers.resource.embedded.scheduler.job_and_node_records import Job, Node, Step
from whesl.model.errors import CouldNotObserveError

_Record = TypeVar("_Record", Job, Step, Node)
_TABLES = """
CREATE TABLE IF NOT EXISTS jobs (id INTEGER PRIMARY KEY, record BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS steps
    (job INTEGER, restart INTEGER, step INTEGER, record BLOB NOT NULL, PRIMARY KEY (job, restart, step));
CREATE TABLE IF NOT EXISTS nodes (name TEXT PRIMARY KEY, record BLOB NOT NULL);
"""
_PUT_JOB = "INSERT OR REPLACE INTO jobs VALUES (?, ?)"
_PUT_STEP = "INSERT OR REPLACE INTO steps VALUES (?, ?, ?, ?)"
_PUT_NODE = "INSERT OR REPLACE INTO nodes VALUES (?, ?)"


class Store:
    """A SQLite file in write-ahead mode, synchronised at every commit.

    Args:
        path: the file, created when missing.

    Raises CouldNotObserveError when the file cannot be read.
    """

    def __init__(self, path: str) -> None:
        self._encode = msgspec.json.Encoder().encode
        try:
            # The file is created here with mode 0600: SQLite would create it as the umask allows.
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
            # The server's lock alone protects the file: SQLite's own locks fail on some file systems.
            place = f"file:{quote(path)}?vfs=unix-none"
            self._connection = sqlite3.connect(place, uri=True, isolation_level=None)
            self._connection.execute("PRAGMA locking_mode=EXCLUSIVE")
            self._connection.execute("PRAGMA journal_mode=WAL")
            self._connection.execute("PRAGMA synchronous=FULL")
            self._connection.executescript(_TABLES)
            self.jobs = self._all("jobs", Job)
            self.steps = self._all("steps", Step)
            self.nodes = self._all("nodes", Node)
        except (OSError, sqlite3.Error, *UNDECODABLE) as error:
            raise CouldNotObserveError(
                f"the state in {path} cannot be read: {error}",
                hint="move the cluster's directory away and start anew",
            ) from error

    def _all(self, table: str, kind: type[_Record]) -> list[_Record]:
        # ``table`` is one of the three names in _TABLES.
        rows = self._connection.execute(f"SELECT record FROM {table}")  # noqa: S608
        return [msgspec.json.decode(record, type=kind) for (record,) in rows]

    def write(self, jobs: Iterable[Job], steps: Iterable[Step], nodes: Iterable[Node]) -> None:
        """Write changed records to the disk in one synchronised transaction.

        Args:
            jobs: changed records of jobs.
            steps: changed records of steps.
            nodes: changed records of nodes.
        """
        encode = self._encode
        execute = self._connection.executemany
        self._connection.execute("BEGIN IMMEDIATE")
        execute(_PUT_JOB, [(job.id, encode(job)) for job in jobs])
        execute(_PUT_STEP, [(step.job, step.restart, step.id, encode(step)) for step in steps])
        execute(_PUT_NODE, [(node.name, encode(node)) for node in nodes])
        self._connection.execute("COMMIT")

    def close(self) -> None:
        """Close the file."""
        self._connection.close()
