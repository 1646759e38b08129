"""Where the coordinator of a job listens: a private file in the user's home, written whole."""

from __future__ import annotations

import os
import re
import zlib
from typing import TYPE_CHECKING

import msgspec

from whesl.managers.resource import beside_program
from whesl.model import home as places
from whesl.model.errors import UsageError
from whesl.runtime.wire import keys

if TYPE_CHECKING:
    from pathlib import Path


_LONGEST = 100  # characters of a name


class Address(msgspec.Struct, frozen=True):
    """The coordinator's address.

    Attributes:
        endpoints: ``tcp://host:port``, one for each address of the machine; a client tries them in turn.
        key: its public key.
        directory: where checkpoints are.
        pid: of the coordinator.
        host: where it runs.
        task: which it serves (``WHESL_TASK``); empty outside of tasks.
    """

    endpoints: tuple[str, ...]
    key: str
    directory: str
    pid: int
    host: str = ""
    task: str = ""


def name_of_job(given: str | None) -> str:
    """Return the job's name: as given, else the resource manager's id with the task's name, or ``default``.

    Raises:
        UsageError: it is no name of a directory.
    """
    environ = os.environ
    # PBS has its server's name in a job's id.
    name = given or re.sub(r"[^\w@+-]", "_", beside_program.job_id(environ)) or "default"
    if not given and (task := environ.get("WHESL_TASK")):
        # Several tasks may run in one job at the same time.
        plain = re.sub(r"[^A-Za-z0-9_@+-]", "_", task)
        if plain != task.replace("/", "_", 1) or len(name) + 1 + len(plain) > _LONGEST:
            # Two names that differ in what is left out are two names.
            plain = f"{zlib.crc32(task.encode()):08x}-{plain}"
        name = f"{name}+{plain}"[:_LONGEST]
    if not re.fullmatch(rf"[\w@+-]{{1,{_LONGEST}}}", name):
        raise UsageError(f"{name!r} is no name of a job", hint="letters, digits and _ @ + - are")
    return name


def name_of_node() -> str:
    """Return this node's name, as the resource manager has it; clients in C do the same."""
    return beside_program.node_name(os.environ)


def folder(name: str) -> Path:
    """Return the job's private directory below WHESL_HOME.

    Raises:
        HomeError: it is open to others.
    """
    return keys.private_directory(keys.private_directory(places.ckpt(keys.home())) / name)


def publish(home: Path, address: Address) -> None:
    """Write the address for agents and the command line.

    Raises:
        OSError: it cannot be written.
    """
    keys.write_private(home / "address", msgspec.json.encode(address))


def find(home: Path) -> Address | None:
    """Return the address; None while there is none."""
    try:
        return msgspec.json.decode((home / "address").read_bytes(), type=Address)
    except (OSError, msgspec.MsgspecError):
        return None


def known() -> dict[str, Address]:
    """Return all coordinators of the user's jobs, by the jobs' names; some may have died."""
    found = {file.parent.name: find(file.parent) for file in (keys.home() / "ckpt").glob("*/address")}
    return {name: address for name, address in sorted(found.items()) if address is not None}


def of_task(task: str) -> Address | None:
    """Return the coordinator of a task's checkpoints; None while there is none."""
    return next((address for address in known().values() if address.task == task), None)
