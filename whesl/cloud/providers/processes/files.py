"""What a cloud of processes keeps on disk: its settings, and a directory for each instance.

``settings.json``, ``cluster/`` (the embedded cluster whose nodes the instances are), ``instances/<id>/``:
``request.json``, ``lock`` (held as long as the instance lives), ``pid``, ``booted`` and ``running`` (marks),
``console`` (its output), ``terminate`` and ``revoke`` (what it is told), ``ended.json``.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from whesl.cloud.providers.port import EndReason, InstanceRequest, Offer
from whesl.files import file_retry


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a cloud of processes behaves. Times in seconds.

    ``capacity``: instances at once. ``mean_life``: of an instance until it fails, and ``spot_life`` of a spot
    one until it is revoked, both drawn from an exponential distribution, 0 for never; a revocation is told
    ``notice`` seconds before.
    """

    capacity: int = 8
    start_delay: float = 1.0
    cpus: int = 2
    prices: tuple[Offer, ...] = ()
    mean_life: float = 0.0
    spot_life: float = 0.0
    notice: float = 120.0
    seed: int = 0


class Started(msgspec.Struct, frozen=True, kw_only=True):
    """An instance as it was asked for; ``asked`` in seconds since the epoch."""

    id: str
    request: InstanceRequest
    node: str
    asked: float


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """The end of an instance."""

    time: float
    reason: EndReason


def write(path: Path, record: object) -> None:
    """Write a record whole, or not at all."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    file_retry.write(fresh, msgspec.json.encode(record))
    fresh.replace(path)


def write_once(path: Path, record: object) -> None:
    """Write a record unless there is one already."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    file_retry.write(fresh, msgspec.json.encode(record))
    try:
        os.link(fresh, path)
    except FileExistsError:
        pass
    finally:
        fresh.unlink(missing_ok=True)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keep other processes out that use the same lock."""
    with path.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def held(path: Path) -> bool:
    """Whether a living process holds a lock."""
    try:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False
