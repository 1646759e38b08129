"""The address of a job's coordinator, in a private file in the user's home that is replaced atomically."""

from __future__ import annotations

import os
import re
import zlib
from pathlib import Path

import msgspec

from whesl.files import file_retry
from whesl.managers.resource import job_sidecar_processes
from whesl.model import home as places
from whesl.model.errors import UsageError
from whesl.runtime.wire import keys

_LONGEST = 100  # largest number of characters of a name


class Address(msgspec.Struct, frozen=True):
    """The coordinator's address.

    Attributes:
        endpoints: ``tcp://host:port`` for each address of the machine; a client tries them in turn.
        key: the coordinator's public key.
        directory: directory of the checkpoints.
        pid: process id of the coordinator.
        host: name of the coordinator's host.
        task: the task that the coordinator serves (``WHESL_TASK``); empty outside of tasks.
    """

    endpoints: tuple[str, ...]
    key: str
    directory: str
    pid: int
    host: str = ""
    task: str = ""


def name_of_job(given: str | None) -> str:
    """Return the job's name: ``given``, else the job id with the task's name, else ``default``.

    Raises:
        UsageError: the name cannot be a directory's name.
    """
    environ = os.environ
    # A job id of PBS contains the server's name, with dots.
    name = given or re.sub(r"[^\w@+-]", "_", job_sidecar_processes.job_id(environ)) or "default"
    if not given and (task := environ.get("WHESL_TASK")):
        # Several tasks may run in one job at the same time, so the task's name is part of the name.
        plain = re.sub(r"[^A-Za-z0-9_@+-]", "_", task)
        if plain != task.replace("/", "_", 1) or len(name) + 1 + len(plain) > _LONGEST:
            # A checksum distinguishes names that differ only in replaced or cut characters.
            plain = f"{zlib.crc32(task.encode()):08x}-{plain}"
        name = f"{name}+{plain}"[:_LONGEST]
    if not re.fullmatch(rf"[\w@+-]{{1,{_LONGEST}}}", name):
        raise UsageError(f"{name!r} is no name of a job", hint="letters, digits and _ @ + - are")
    return name


def name_of_node() -> str:
    """Return this node's name in the resource manager, by the same rule as the C client."""
    return job_sidecar_processes.node_name(os.environ)


def folder(name: str) -> Path:
    """Return the job's private directory below WHESL_HOME.

    Raises:
        HomeError: the directory is accessible to other users.
    """
    return keys.private_directory(keys.private_directory(places.ckpt(keys.home())) / name)


def publish(home: Path, address: Address) -> None:
    """Write the address for agents and the command line.

    Args:
        home: the job's private directory, as ``folder`` returns it.
        address: the coordinator's address, which replaces an earlier coordinator's.

    Raises:
        OSError: the file cannot be written.
    """
    file_retry.replace(home / "address", msgspec.json.encode(address), durable=True)


def find(home: Path) -> Address | None:
    """Return the coordinator's address; None while there is none."""
    try:
        return msgspec.json.decode((home / "address").read_bytes(), type=Address)
    except (OSError, msgspec.MsgspecError):
        return None


def known() -> dict[str, Address]:
    """Return the addresses of all coordinators of the user, by the jobs' names; some may be dead."""
    found = {file.parent.name: find(file.parent) for file in (keys.home() / "ckpt").glob("*/address")}
    return {name: address for name, address in sorted(found.items()) if address is not None}


def of_task(task: str) -> Address | None:
    """Return the address of the coordinator of a task's checkpoints; None while there is none."""
    return next((address for address in known().values() if address.task == task), None)
