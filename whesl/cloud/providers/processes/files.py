"""The files of a cloud of processes: its settings, and a directory for each instance.

``settings.json``, ``cluster/`` (the embedded cluster whose nodes the instances are), ``instances/<id>/``:
``request.json``, ``lock`` (held as long as the instance lives), ``pid``, ``booted`` and ``running`` (marks),
``console`` (its output), ``terminate`` and ``revoke`` (orders to it), ``ended.json``.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import msgspec

from whesl.cloud.providers.port import EndReason, InstanceRequest, Offer
from whesl.files import file_retry

_Seconds = Annotated[float, msgspec.Meta(ge=0, le=366 * 86400.0)]


class Chosen(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of a cloud of processes that a user chooses. Times in seconds.

    ``capacity``: largest number of instances at once. ``mean_life``: mean time until an instance fails.
    ``spot_life``: mean time until a spot instance is revoked. Both times are exponentially distributed, 0 for
    never. ``notice``: time between a revocation's announcement and the revocation.
    """

    capacity: Annotated[int, msgspec.Meta(ge=0, le=1_000_000)] = 8
    start_delay: _Seconds = 1.0
    mean_life: _Seconds = 0.0
    spot_life: _Seconds = 0.0
    notice: _Seconds = 120.0
    seed: int = 0


class Settings(Chosen, frozen=True, kw_only=True):
    """All settings of a cloud of processes."""

    cpus: int = 2
    prices: tuple[Offer, ...] = ()


class Started(msgspec.Struct, frozen=True, kw_only=True):
    """A requested instance; ``asked``: time of the request, seconds since the epoch."""

    id: str
    request: InstanceRequest
    node: str
    asked: float


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """The time and the reason of an instance's end."""

    time: float
    reason: EndReason


def write(path: Path, record: object) -> None:
    """Write a record whole, or not at all.

    Args:
        path: the file; an existing one is replaced.
        record: any value that msgspec encodes as JSON.

    Raises:
        OSError: the file cannot be written.
    """
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    file_retry.write(fresh, msgspec.json.encode(record))
    fresh.replace(path)


def write_once(path: Path, record: object) -> None:
    """Write a record unless there is one already.

    Args:
        path: the file; an existing one stays as it is, also when another process writes it at the same time.
        record: any value that msgspec encodes as JSON.

    Raises:
        OSError: the file cannot be written.
    """
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
    """Hold a file's lock, which excludes other processes that use the same lock."""
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
