"""TCP ports that no other test takes while they are not bound."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Iterator
from contextlib import contextmanager


def free_ports(count: int, side_by_side: int = 1) -> tuple[list[int], list[socket.socket]]:
    """Return free TCP ports below the range from which the kernel gives ports by itself, and their claims.

    With ``side_by_side`` above 1, each stands for itself and those that follow it.

    A claim is a socket with the port's name: as long as it is open nobody else gets that port here, which is
    free until a daemon starts, and again while it is down. Raises OSError when there are too few.
    """
    ports: list[int] = []
    claims: list[socket.socket] = []
    for _ in range(1000):
        candidate = 12000 + secrets.randbelow(18000)
        made = [socket.socket(socket.AF_UNIX) for _ in range(side_by_side)]
        try:
            for port, claim in enumerate(made, candidate):
                claim.bind(f"\0whesl-port-{port}")
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", port))
        except OSError:
            for claim in made:
                claim.close()
            continue
        ports.append(candidate)
        claims += made
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
