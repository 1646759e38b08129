"""The endpoint file, by which clients find the coordinator, even after its restart on another host."""

from __future__ import annotations

import socket
from pathlib import Path

import msgspec

from whesl import __version__
from whesl.files import file_retry
from whesl.files.decode_errors import UNDECODABLE
from whesl.model import home as places
from whesl.runtime.wire.messages import WIRE_VERSION
from whesl.runtime.wire.own_addresses import bracketed, own_addresses


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """The content of ``coordinator/endpoint.json``.

    Clients try ``addresses`` in order; clients on ``host`` itself try loopback first. ``incarnation`` changes
    with each start. ``wire`` is the version of the coordinator's messages, ``version`` that of its WHESL.
    """

    host: str
    addresses: tuple[str, ...]
    port: int
    public_key: str
    pid: int
    incarnation: str
    wire: int = 1
    version: str = ""

    @property
    def foreign(self) -> str:
        """Why the coordinator's messages are of an incompatible version; "" when they are compatible."""
        if self.wire == WIRE_VERSION:
            return ""
        other = self.version or "another version"
        return f"it is of WHESL {other}, whose messages {__version__} does not understand"

    def hosts(self, here: str) -> tuple[str, ...]:
        """Return the addresses to try from a machine called ``here``, best first."""
        loopback = ("127.0.0.1",) if here == self.host else ()
        return (*loopback, *(address for address in self.addresses if address not in loopback))

    def url(self, host: str) -> str:
        """Return the address of the socket on one of the hosts."""
        return f"tcp://{bracketed(host)}:{self.port}"


def write_endpoint(home: Path, endpoint: Endpoint) -> None:
    """Write the endpoint file atomically, with mode 0600. Raises OSError.

    Args:
        home: the WHESL home.
        endpoint: the content.
    """
    file_retry.replace(places.endpoint(home), msgspec.json.encode(endpoint), durable=True)


def read_endpoint(home: Path) -> Endpoint | None:
    """Return the file's content, None when there is none or it is not readable."""
    try:
        content = file_retry.content(places.endpoint(home), file_retry.BRIEF)
        return None if content is None else msgspec.json.decode(content, type=Endpoint)
    except (OSError, *UNDECODABLE):
        return None


def reachable_addresses(bind_host: str) -> tuple[str, ...]:
    """Return the addresses by which other machines may reach a socket, the host's name first.

    Args:
        bind_host: the address that the socket listens on; ``*`` for all interfaces.
    """
    if bind_host != "*":
        return (bind_host,)
    others, loopback = own_addresses()
    return (socket.gethostname(), *others, *loopback)
