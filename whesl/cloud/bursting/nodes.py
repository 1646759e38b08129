"""What ResumeProgram and SuspendProgram do, and the reaper outside of Slurm.

Each request is written to the journal before the provider gets it. The instance knows its own end time. Its
token consists of the node's name and a number, so a program that slurmctld runs twice starts one instance.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from whesl.cloud.bursting.core.orphans import Memory, orphans
from whesl.cloud.providers.port import Instance, InstanceRequest, Provider
from whesl.cloud.providers.processes.files import locked
from whesl.files import file_retry
from whesl.files.decode_errors import UNDECODABLE
from whesl.runtime.journal.store import Journal

ASKED, ENDED = "asked", "ended"


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A journal record: an instance is about to be requested for a node."""

    node: str
    number: int
    request: InstanceRequest


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """A journal record: the end of an instance was requested."""

    token: str
    why: str


class Burst:
    """The instances behind a partition of CLOUD nodes.

    Args:
        directory: the directory of the journal.
        provider: the provider that starts the instances.
        cluster: the tag of all these instances.
        kind: the instance type.
        command: the command that an instance runs; ``{node}`` stands for its node's name.
        lifetime: seconds until an instance ends itself.
    """

    def __init__(
        self,
        directory: Path,
        provider: Provider,
        *,
        cluster: str,
        kind: str,
        command: str,
        lifetime: float,
    ) -> None:
        self._directory, self._provider = directory, provider
        self._cluster, self._kind, self._command, self._lifetime = cluster, kind, command, lifetime
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)

    def resume(self, nodes: Sequence[str]) -> dict[str, str]:
        """Start an instance for each node without one; return the error texts by node.

        Raises JournalError when the journal cannot be written; then no instance is started.
        """
        failed = {}
        with locked(self._directory / "lock"), Journal(self._directory / "bursting.db") as journal:
            known = self._known(journal)
            alive = {one.token for one in self._provider.instances(self._cluster) if not one.gone}
            for node in nodes:
                last = known.get(node)
                request = last.request if last is not None else None
                if last is None or request is None or self._over(request, alive):
                    request = self._request(node, last.number + 1 if last is not None else 1)
                    number = last.number + 1 if last is not None else 1
                    journal.append(ASKED, Asked(node=node, number=number, request=request), time.time())
                try:
                    self._provider.start(request)
                except Exception as error:
                    failed[node] = str(error)
        return failed

    def suspend(self, nodes: Sequence[str]) -> None:
        """End the instances of nodes. Raises the provider's errors; the reaper tries again."""
        with locked(self._directory / "lock"), Journal(self._directory / "bursting.db") as journal:
            known = self._known(journal)
            for node in nodes:
                if node in known:
                    self._end(journal, known[node].request.token, "suspended")

    def reap(self, states: Mapping[str, str], grace: float) -> list[Instance]:
        """End the instances whose nodes Slurm has not used for ``grace`` seconds; return these instances.

        Args:
            states: Slurm's states by node. Do not call it when Slurm has not answered.
            grace: seconds; two looks are needed even for 0.

        Raises the provider's errors.
        """
        path = self._directory / "reaper.json"
        with locked(self._directory / "lock"), Journal(self._directory / "bursting.db") as journal:
            nodes = {
                asked.request.token: asked.node
                for record in journal.read(kinds=(ASKED,))
                if (asked := msgspec.json.decode(bytes(record.content), type=Asked))
            }
            try:
                memory = msgspec.json.decode(path.read_bytes(), type=Memory)
            except (FileNotFoundError, *UNDECODABLE):
                memory = Memory()
            alive = [one for one in self._provider.instances(self._cluster) if not one.gone]
            memory, found = orphans(memory, alive, states, nodes, time.time(), grace)
            for instance in found:
                self._end(journal, instance.token, "its node is not used by Slurm")
            file_retry.replace(path, msgspec.json.encode(memory))
        return found

    def _end(self, journal: Journal, token: str, why: str) -> None:
        instance = self._provider.find(token)
        journal.append(ENDED, Ended(token=token, why=why), time.time())
        if instance is not None:
            self._provider.terminate([instance.id])

    def _over(self, request: InstanceRequest, alive: set[str]) -> bool:
        """Return whether the last instance of a node has ended or ends within a minute."""
        if time.time() > request.ends - 60:
            return True
        if request.token in alive:
            return False
        found = self._provider.find(request.token)
        return found is not None and found.gone

    def _request(self, node: str, number: int) -> InstanceRequest:
        return InstanceRequest(
            token=f"{self._cluster}-{node}-{number}",
            workflow=self._cluster,
            kind=self._kind,
            ends=float(int(time.time() + self._lifetime)),
            command=self._command.replace("{node}", node),
        )

    def _known(self, journal: Journal) -> dict[str, Asked]:
        """Return the last requested instance of each node."""
        found = {}
        for record in journal.read(kinds=(ASKED,)):
            asked = msgspec.json.decode(bytes(record.content), type=Asked)
            found[asked.node] = asked
        return found
