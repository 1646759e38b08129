"""Finds the slurmds of a job's nodes, and tells whether one of them has surely ended.

A connection that a node's kernel *refuses* shows that the node's network stack lives, and that no process
listens on slurmd's port (connect(2), ECONNREFUSED). No answer, no route and other errors show nothing.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from whesl.model.errors import WheslError

# Seconds for a connection to a known slurmd. A refusal comes after one round trip; a later answer counts as
# none.
LOOK_LIMIT = 0.1
# Seconds for the first connection to one node, and for the first connections to all nodes together.
FIRST_LIMIT = 1.0
LEARN_LIMIT = 30.0

_Address = tuple[socket.AddressFamily, Any]  # the family, and an address in the family's form (socket module)


class Slurmds:
    """The slurmds of one allocation.

    A refusal counts only for a slurmd that has accepted a connection from this node before: a firewall may
    refuse all connections, and slurmctld may know another address. Addresses are kept as numbers, so that a
    later look needs neither slurmctld nor a name server. slurmd logs two lines for each connection without a
    message.

    Args:
        ask: returns slurmctld's NodeAddr and Port of each node; may take long; raises WheslError.
    """

    def __init__(self, ask: Callable[[], Mapping[str, tuple[str, int]]]) -> None:
        self._ask = ask
        self._known: dict[str, _Address] = {}
        self._thread: threading.Thread | None = None

    @property
    def known(self) -> frozenset[str]:
        """The nodes whose slurmd has accepted a connection."""
        return frozenset(self._known)

    def learn(self) -> None:
        """Start a background thread that finds the slurmds, unless one runs or has found some."""
        if self._thread is None or not (self._thread.is_alive() or self._known):
            self._thread = threading.Thread(target=self._learn, name="slurmds", daemon=True)
            self._thread.start()

    def _learn(self) -> None:
        try:
            listed = self._ask()
        except WheslError:
            return
        deadline = time.monotonic() + LEARN_LIMIT
        for node, (host, port) in listed.items():
            limit = min(deadline - time.monotonic(), FIRST_LIMIT)
            if limit <= 0:
                return
            with contextlib.suppress(OSError, UnicodeError):
                family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
                _connect((family, address), limit)
                self._known[node] = (family, address)

    def ended(self, node: str) -> bool | None:
        """Whether a node's kernel refuses connections to slurmd, after slurmd has accepted one before.

        False when slurmd still accepts connections, None when its state is unknown.
        """
        address = self._known.get(node)
        if address is None:
            return None
        try:
            _connect(address, LOOK_LIMIT)
        except ConnectionRefusedError:
            return True
        except OSError:
            return None
        return False


def _connect(address: _Address, limit: float) -> None:
    with socket.socket(address[0], socket.SOCK_STREAM) as connection:
        connection.settimeout(limit)
        connection.connect(address[1])
