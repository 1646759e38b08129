"""Figures for Prometheus over HTTP: text exposition format 0.0.4, or OpenMetrics on request.

prometheus_client writes the text and serves it from threads of its own.
"""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING

from whesl.model.errors import UsageError, WheslError

if TYPE_CHECKING:
    from prometheus_client.registry import Collector

LOOPBACK = "127.0.0.1"
_PORTS = range(1, 65536)


def address(text: str, *, open_to_others: bool = False) -> tuple[str, int]:
    """Return host and port of ``[HOST:]PORT``; without a host, loopback.

    Args:
        text: as the user wrote it; an IPv6 address stands in brackets.
        open_to_others: the user has allowed an address that other machines can reach.

    Raises UsageError for a malformed address, and for one that others can reach without permission.
    """
    host, _, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]") or LOOPBACK
    if not port.isascii() or not port.isdigit() or int(port) not in _PORTS:
        raise UsageError(f"'{text}' is no [HOST:]PORT", hint="for example 9464, or 127.0.0.1:9464")
    if not open_to_others and not _loopback(host):
        raise UsageError(
            f"metrics on {host} could be read by everybody who reaches this machine",
            hint="leave the host out for 127.0.0.1, or say so with --metrics-open",
        )
    return host, int(port)


def _loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class MetricsServer:
    """Serves a collector's figures at ``/metrics`` until it is closed, or the process ends.

    Args:
        collector: gives the figures; its names are not checked, since it is the only one.
        host: address to listen on.
        port: its port.

    Raises WheslError when prometheus_client is not installed or the address is taken.
    """

    def __init__(self, collector: Collector, host: str, port: int) -> None:
        try:
            from prometheus_client import CollectorRegistry, start_http_server
        except ImportError as error:
            raise WheslError(
                "metrics need the library prometheus_client", hint="pip install 'whesl[metrics]'"
            ) from error
        registry = CollectorRegistry(auto_describe=False)
        registry.register(collector)
        try:
            self._server, self._thread = start_http_server(port, addr=host, registry=registry)
        except OSError as error:
            raise WheslError(
                f"metrics cannot be served on {host} port {port}: {error.strerror or error}",
                hint="another program may have the port; choose another one",
            ) from error
        self.where = f"{host}:{port}"

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
