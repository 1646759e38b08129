"""The stacks of a hung attempt, collected from its nodes before the attempt is killed."""

from __future__ import annotations

import time
from pathlib import Path

import msgspec

from whesl.files import file_retry
from whesl.model.evidence import Evidence
from whesl.runtime.journal.records import isolator_records as records

# Number of characters of the stacks that the journal keeps.
STACKS_SHOWN = 4000


class Stacks(msgspec.Struct):
    """The stacks that are being collected before a kill."""

    attempt: int
    token: str
    waiting: set[str]
    deadline: float
    here: bool = False
    texts: list[str] = []
    stuck: dict[str, str] = {}  # by node: the processes that cannot run

    def evidence(self, directory: Path) -> records.EvidenceTaken:
        """Return the collected stacks, and keep their texts in a directory, which is made."""
        missing = [f"{node} did not answer" for node in sorted(self.waiting)]
        stuck = (
            Evidence(kind="stuck", time=time.time(), node=node, detail=detail)
            for node, detail in self.stuck.items()
        )
        detail = _kept(directory, "\n".join([*self.texts, *missing]))
        return records.EvidenceTaken(attempt=self.attempt, detail=detail, stuck=tuple(stuck))


def _kept(directory: Path, text: str) -> str:
    """Write the stacks to a file, and return the file's path and the text's beginning for the journal."""
    try:
        directory.mkdir(mode=0o700, exist_ok=True)
        file_retry.replace(directory / "all.txt", text.encode())
    except OSError as error:
        return f"(not kept: {error.strerror})\n{text[:STACKS_SHOWN]}"
    return f"{directory / 'all.txt'}\n{text[:STACKS_SHOWN]}"
