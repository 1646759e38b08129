"""TCP ports that no other test takes while they are not bound."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Iterator
from contextlib import contextmanager


def free_ports(count: int) -> tuple[list[int], list[socket.socket]]:
    """Return free TCP ports below the range from which the kernel gives ports by itself, and their claims.

    A claim is a socket with the port's name: as long as it is open nobody else gets that port here, which is
    free until a daemon starts, and again while it is down. Raises OSError when there are too few.
    """
    ports: list[int] = []
    claims: list[socket.socket] = []
    for _ in range(1000):
        candidate = 12000 + secrets.randbelow(18000)
        claim = socket.socket(socket.AF_UNIX)
        try:
            claim.bind(f"\0whesl-port-{candidate}")
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", candidate))
        except OSError:
            claim.close()
            continue
        ports.append(candidate)
        claims.append(claim)
        if len(ports) == count:
            return ports, claims
    for claim in claims:
        claim.close()
    raise OSError("no free TCP ports")


@contextmanager
def free_port() -> Iterator[int]:
    """Yield a free TCP port, which is claimed until the block ends."""
    (port,), (claim,) = free_ports(1)
    with claim:
        yield port
