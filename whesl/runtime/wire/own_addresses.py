"""The addresses of this machine, as other machines may reach it. Both families: some sites have IPv6 only."""

from __future__ import annotations

import ipaddress
import socket

import psutil


def own_addresses() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the addresses of this machine's interfaces, IPv4 first, and separately its loopback addresses.

    Link-local IPv6 addresses are left out: their meaning depends on the interface of the machine that uses
    them.
    """
    others: list[str] = []
    loopback: list[str] = []
    for family in (socket.AF_INET, socket.AF_INET6):
        for interface in psutil.net_if_addrs().values():
            for entry in interface:
                if entry.family != family:
                    continue
                address = ipaddress.ip_address(entry.address)
                if address.is_loopback:
                    loopback.append(entry.address)
                elif not (family == socket.AF_INET6 and address.is_link_local):
                    others.append(entry.address)
    return tuple(dict.fromkeys(others)), tuple(dict.fromkeys(loopback))


def bracketed(host: str) -> str:
    """Return a host in the form before a port: an IPv6 address gets brackets (RFC 3986)."""
    return f"[{host}]" if ":" in host else host
