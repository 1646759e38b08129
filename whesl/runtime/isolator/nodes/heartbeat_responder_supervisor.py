"""The isolator's side of the responder: its start, its discovery, and its answers."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterable

import msgspec

from whesl.model.errors import WheslError
from whesl.runtime.isolator.nodes.lease_table import LeaseTable
from whesl.runtime.locking import procfs
from whesl.runtime.node_agent.fencing import attempt_processes
from whesl.runtime.node_agent.messages import Carrier, LinkFile, ResponderSetup
from whesl.runtime.wire.keys import LinkKeys

RESTART_AFTER = 1.0  # seconds between two starts of the responder


class Leases:
    """The leases of all agents, as the responder has extended them.

    Args:
        nodes: the nodes whose agents hold the leases.
        keys: the keys of the agents' link.
        listening: the listening socket for a new responder, closed here; None to find a running responder.
        old: an earlier isolator's link file, which names the running responder.

    Raises WheslError when no responder runs and none can be started.
    """

    def __init__(
        self, nodes: tuple[str, ...], keys: LinkKeys, listening: socket.socket | None, old: LinkFile | None
    ) -> None:
        self._nodes = nodes
        self._keys = keys
        self.port = listening.getsockname()[1] if listening is not None else 0
        self._child: subprocess.Popen[bytes] | None = None
        self._start_at = 0.0
        if listening is not None:
            self._start(listening)
        else:
            assert old is not None
            self.port = old.lease_port
            self._find(old)
        self._serve()

    # The responder's process ----------------------------------------------------------------------------

    def _start(self, listening: socket.socket) -> None:
        table, self.table = LeaseTable.make(self._nodes)
        setup = ResponderSetup(
            port=self.port, listening=listening.fileno(), table=table, nodes=self._nodes, keys=self._keys
        )
        try:
            with listening:
                self._child = subprocess.Popen(
                    [sys.executable, "-m", "whesl.runtime.isolator.nodes.heartbeat_responder"],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    pass_fds=(listening.fileno(), table),
                    start_new_session=True,
                    cwd="/",
                )
            assert self._child.stdin is not None
            with contextlib.suppress(OSError), self._child.stdin as stdin:
                stdin.write(msgspec.json.encode(setup))
            self.carrier = Carrier(pid=self._child.pid, started=procfs.started(self._child.pid))
        except OSError as error:
            raise WheslError(f"the agents' responder cannot be started: {error}") from error
        finally:
            os.close(table)
        self.descriptor = table

    def _find(self, old: LinkFile) -> None:
        """Take over the responder of an earlier isolator; start another one where that is gone."""
        carrier = old.responder
        if carrier is not None and attempt_processes.alive(carrier.pid, carrier.started):
            with contextlib.suppress(OSError):
                descriptor = os.open(f"/proc/{carrier.pid}/fd/{old.table}", os.O_RDWR | os.O_CLOEXEC)
                try:
                    self.table = LeaseTable(descriptor, self._nodes)
                finally:
                    os.close(descriptor)
                self.carrier, self.descriptor = carrier, old.table
                return
        self._start(listen((self.port,)))

    def _serve(self) -> None:
        self.table.served = (os.getpid(), os.getppid())

    def revive(self, now: float) -> bool:
        """Restart the responder if it has ended; return whether it was restarted.

        The agents' leases continue, since agents see that the port refuses connections meanwhile.
        """
        if now < self._start_at or not self._ended():
            return False
        self._start_at = now + RESTART_AFTER
        before = self.table
        try:
            self._start(listen((self.port,)))
        except WheslError:
            return False
        for node in self._nodes:
            self.table.refuse(node, refused=before.refused(node))
        before.close()
        self._serve()
        return True

    def _ended(self) -> bool:
        if self._child is not None:
            return self._child.poll() is not None
        return not attempt_processes.alive(self.carrier.pid, self.carrier.started)

    # The leases -----------------------------------------------------------------------------------------

    def given_up(self, node: str) -> bool:
        """Give a node's lease up for good; return False when its agent was answered meanwhile.

        The lease may count as over only if no newer answer was noted meanwhile (see ``LeaseTable.answer``).
        """
        answered = self.table.answered(node)
        self.table.refuse(node, refused=True)
        if self.table.answered(node) == answered:
            return True
        self.table.refuse(node, refused=False)
        return False

    def close(self) -> None:
        """Kill the responder."""
        if not self._ended():
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.carrier.pid, signal.SIGKILL)
        if self._child is not None:
            self._child.wait()
        self.table.close()


def listen(ports: Iterable[int]) -> socket.socket:
    """Listen on the first free port of ``ports``, 0 for any, by IPv4 and IPv6 where the machine has both.

    Raises WheslError.
    """
    both = socket.has_dualstack_ipv6()
    family = socket.AF_INET6 if both else socket.AF_INET
    reason = "no ports"
    for port in ports:
        try:
            return socket.create_server(
                ("", port), family=family, dualstack_ipv6=both, backlog=4096, reuse_port=False
            )
        except OSError as error:
            reason = error.strerror or str(error)
    raise WheslError(f"cannot listen for the agents' heartbeats: {reason}")
