"""Where the slurmds of a job's nodes listen, and whether one of them has surely ended.

A connection that the kernel of a node *refuses* tells that the node's network stack lives and that no process
listens on slurmd's port (connect(2), ECONNREFUSED). No answer, no route, any other error: nothing is known.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from whesl.model.errors import WheslError

# Seconds that a look may take. A refusal comes after one round trip; a later answer tells nothing.
LOOK_LIMIT = 0.1
# Seconds for the first connection to a node that lives, and for all of them together.
FIRST_LIMIT = 1.0
LEARN_LIMIT = 30.0

_Address = tuple[socket.AddressFamily, Any]  # what of: the family's own form, see the socket module


class Slurmds:
    """The slurmds of one allocation.

    Only a slurmd that was once seen to accept a connection from this very node can be missed later: a refusal
    where a firewall refuses everything, or where slurmctld knows another address, tells nothing. The
    addresses are kept as numbers, so that no later look needs slurmctld or a name server. slurmd writes two
    lines about a connection without a message into its log.

    Args:
        ask: returns each node's NodeAddr and Port as slurmctld has them; may take long; raises WheslError.
    """

    def __init__(self, ask: Callable[[], Mapping[str, tuple[str, int]]]) -> None:
        self._ask = ask
        self._known: dict[str, _Address] = {}
        self._thread: threading.Thread | None = None

    @property
    def known(self) -> frozenset[str]:
        """The nodes whose slurmd was found."""
        return frozenset(self._known)

    def learn(self) -> None:
        """Begin to find the slurmds, in the background; when that is done or under way, do nothing."""
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
        """Whether the kernel refuses connections to a node's slurmd, which it accepted before.

        False when it still accepts them, None when nothing is known.
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
