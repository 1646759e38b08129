"""The stacks of a hung attempt, collected from its nodes before the attempt is killed."""

from __future__ import annotations

import time
from pathlib import Path

import msgspec

from whesl.files import file_retry
from whesl.model.evidence import Evidence
from whesl.runtime.isolator.core.events_and_commands import CollectEvidence, Detections, Event
from whesl.runtime.journal.records import isolator_records as records

# Number of characters of the stacks that the journal keeps.
STACKS_SHOWN = 4000


class Stacks(msgspec.Struct):
    """The stacks that are being collected before a kill."""

    command: CollectEvidence
    token: str
    waiting: set[str]
    deadline: float
    here: bool = False
    texts: list[str] = []
    stuck: dict[str, str] = {}  # by node: the processes that cannot run

    def event(self, directory: Path) -> Event | None:
        """Return the event that answers the command.

        Args:
            directory: is made, and keeps the texts of stacks.

        Returns the stacks; or the detections that waited for a stopped rank, None without one. While no rank
        runs, somebody has stopped the whole job, and may continue it.
        """
        missing = [f"{node} did not answer" for node in sorted(self.waiting)]
        stuck = tuple(
            Evidence(kind="stuck", time=time.time(), node=node, detail=detail)
            for node, detail in self.stuck.items()
        )
        if silent := self.command.silent:
            if not stuck or not any(self.texts):
                return None
            where = "; ".join(f"on {node}: {detail}" for node, detail in self.stuck.items())
            found = []
            for each in silent:
                (last,) = each.evidence
                why = msgspec.structs.replace(last, detail=f"{last.detail}; {where}")
                found.append(msgspec.structs.replace(each, evidence=(why, *stuck)))
            return Detections(attempt=self.command.attempt, found=tuple(found))
        detail = _kept(directory, "\n".join([*self.texts, *missing]))
        return records.EvidenceTaken(attempt=self.command.attempt, detail=detail, stuck=stuck)


def _kept(directory: Path, text: str) -> str:
    """Write the stacks to a file, and return the file's path and the text's beginning for the journal."""
    try:
        directory.mkdir(mode=0o700, exist_ok=True)
        file_retry.replace(directory / "all.txt", text.encode())
    except OSError as error:
        return f"(not kept: {error.strerror})\n{text[:STACKS_SHOWN]}"
    return f"{directory / 'all.txt'}\n{text[:STACKS_SHOWN]}"
