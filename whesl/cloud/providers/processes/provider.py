"""A provider whose instances are processes of this machine, for trials and tests."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from whesl.cloud.providers.port import (
    EndReason,
    Instance,
    InstanceRequest,
    InstanceState,
    NoCapacityError,
    Offer,
    TokenMismatchError,
)
from whesl.cloud.providers.processes import instance_processes
from whesl.cloud.providers.processes.files import Ended, Settings, Started, held, locked, write, write_once
from whesl.files.decode_errors import UNDECODABLE
from whesl.managers.resource import command_call
from whesl.managers.resource.embedded import daemons
from whesl.managers.resource.embedded.cluster_directory import Cluster
from whesl.managers.resource.embedded.environment import cleaned
from whesl.managers.resource.embedded.scheduler.job_and_node_records import Partition
from whesl.managers.resource.embedded.scheduler.job_and_node_records import Settings as ClusterSettings
from whesl.model.errors import CouldNotObserveError, RefusedError, TransientError

STARTS = 3  # attempts to start the embedded cluster's server
BOOT_LIMIT = 30.0  # seconds after which an instance without a visible process counts as ended


class ProcessProvider:
    """A cloud in a directory.

    Args:
        directory: the cloud's directory; made when it does not exist.
        settings: settings of a new cloud; None for the existing or the default settings.

    Raises CouldNotObserveError when the settings cannot be read, WheslError when the server does not start.
    """

    name = "processes"

    def __init__(self, directory: Path, settings: Settings | None = None) -> None:
        self.directory = directory.resolve()
        self._instances = self.directory / "instances"
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._instances.mkdir(mode=0o700, exist_ok=True)
        path = self.directory / "settings.json"
        if settings is not None or not path.exists():
            write(path, settings or Settings())
        try:
            self.settings = msgspec.json.decode(path.read_bytes(), type=Settings)
        except UNDECODABLE as error:
            raise CouldNotObserveError(f"{path} cannot be read: {error}") from None
        self.cluster = Cluster(str(self.directory / "cluster"))
        self._nodes = tuple(f"c{number:03}" for number in range(1, self.settings.capacity + 1))
        with locked(self.directory / "lock"):
            self._serve_surely()

    def _serve_surely(self) -> None:
        """Start the embedded cluster's server; repeat this when the server is killed while it starts."""
        for left in reversed(range(STARTS)):
            try:
                self._serve()
                return
            except TransientError:
                if not left:
                    raise

    def _serve(self) -> None:
        """Start the embedded cluster's server, without any node, unless it runs."""
        if daemons.server_pid(self.cluster) is not None:
            return
        partitions = tuple(Partition(name=node, nodes=(node,)) for node in self._nodes)
        settings = ClusterSettings(
            name="cloud", nodes=self._nodes, cpus=self.settings.cpus, partitions=partitions, node_timeout=5.0
        )
        daemons.prepare(self.cluster, settings)
        daemons.start_server(self.cluster)

    def start(self, request: InstanceRequest) -> Instance:
        """Start an instance once for a token."""
        known_as = _id_of(request.token)
        directory = self._instances / known_as
        with locked(self.directory / "lock"):
            if not (directory / "request.json").exists():
                if request.ends <= time.time():
                    raise RefusedError("the end time of the instance has passed")
                self._serve_surely()  # the server may have been killed
                taken = {self._read(place).node for place in self._places() if not self._look(place).gone}
                free = next((node for node in self._nodes if node not in taken), None)
                if free is None:
                    raise NoCapacityError(f"all {len(self._nodes)} instances of {self.directory} are in use")
                directory.mkdir(mode=0o700, exist_ok=True)
                started = Started(id=known_as, request=request, node=free, asked=time.time())
                write(directory / "request.json", started)
            elif self._read(directory).request != request:
                raise TokenMismatchError(f"the token {request.token} was used for another request")
            if not (directory / "booted").exists():
                self._spawn(directory)
        return self._look(directory)

    def instances(self, workflow: str) -> list[Instance]:
        """Return a workflow's instances."""
        found = (self._look(directory) for directory in self._places())
        return [instance for instance in found if instance.workflow == workflow]

    def find(self, token: str) -> Instance | None:
        """Return the instance of a token."""
        directory = self._instances / _id_of(token)
        return self._look(directory) if (directory / "request.json").exists() else None

    def terminate(self, ids: Sequence[str]) -> None:
        """Begin to end instances; they may still run when this returns."""
        for known_as in ids:
            directory = self._instances / os.path.basename(known_as)  # noqa: PTH119 - no other directory
            if (directory / "request.json").exists():
                (directory / "terminate").touch()

    def prices(self, kinds: Sequence[str]) -> list[Offer]:
        """Return the prices of the cloud's settings."""
        return [offer for offer in self.settings.prices if offer.kind in kinds]

    def revoke(self, known_as: str, notice: float) -> None:
        """Revoke a spot instance; an instance that is being revoked keeps its time.

        Args:
            known_as: the instance's id.
            notice: seconds from now to the revocation.
        """
        write_once(self._instances / known_as / "revoke", time.time() + notice)

    def lose(self, known_as: str) -> None:
        """Simulate a host failure: kill the instance's first process."""
        os.kill(int((self._instances / known_as / "pid").read_text().split()[0]), signal.SIGKILL)

    def close(self) -> None:
        """End the embedded cluster's server; instances continue to their end time."""
        server = daemons.server_pid(self.cluster)
        if server is not None:
            command_call.send(server, signal.SIGTERM)

    def _places(self) -> list[Path]:
        return sorted(path.parent for path in self._instances.glob("*/request.json"))

    def _read(self, directory: Path) -> Started:
        try:
            return msgspec.json.decode((directory / "request.json").read_bytes(), type=Started)
        except (OSError, *UNDECODABLE) as error:
            raise CouldNotObserveError(f"{directory / 'request.json'} cannot be read: {error}") from None

    def _look(self, directory: Path) -> Instance:
        started = self._read(directory)
        state, ended, reason = self._state(directory, started)
        revocation = 0.0
        if (mark := directory / "revoke").exists():
            revocation = float(mark.read_text())
        return Instance(
            id=started.id,
            token=started.request.token,
            workflow=started.request.workflow,
            kind=started.request.kind,
            market=started.request.market,
            state=state,
            reason=reason,
            asked=started.asked,
            ends=started.request.ends,
            ended=ended,
            revocation=revocation,
            address=str(directory),
        )

    def _state(self, directory: Path, started: Started) -> tuple[InstanceState, float, EndReason]:
        # ``booted`` is read before the lock, since an instance takes its lock before it makes ``booted``.
        booted = (directory / "booted").exists()
        alive = held(directory / "lock")
        if (path := directory / "ended.json").exists():
            end = msgspec.json.decode(path.read_bytes(), type=Ended)
            return InstanceState.ENDED, end.time, end.reason
        if alive:
            if (directory / "terminate").exists():
                return InstanceState.ENDING, 0.0, EndReason.REQUESTED
            running = (directory / "running").exists()
            return InstanceState.RUNNING if running else InstanceState.PENDING, 0.0, EndReason.UNKNOWN
        now = time.time()
        if not booted and not (directory / "terminate").exists() and now < started.asked + BOOT_LIMIT:
            return InstanceState.PENDING, 0.0, EndReason.UNKNOWN
        # Both processes of the instance are gone or never started. A process that starts later ends at once.
        (directory / "terminate").touch()
        instance_processes.kill(self.cluster, started.node, str(directory), set())
        write_once(directory / "ended.json", Ended(time=now, reason=EndReason.LOST))
        return InstanceState.ENDED, now, EndReason.LOST

    def _spawn(self, directory: Path) -> None:
        environ = {name: value for name, value in cleaned(os.environ).items() if name != "WHESL_LOCAL"}
        environ[instance_processes.MARK] = str(directory)
        with (directory / "console").open("ab") as console:
            subprocess.Popen(
                [sys.executable, "-m", f"{__package__}.guest", str(self.directory), directory.name],
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=console,
                cwd=directory,
                env=environ,
                start_new_session=True,
            )


def _id_of(token: str) -> str:
    return f"i-{hashlib.sha256(token.encode()).hexdigest()[:17]}"
