"""Messages from the command line and the isolator to a job's coordinator of checkpoints."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import NamedTuple

from whesl.checkpoints import messages, rendezvous
from whesl.checkpoints.rendezvous import Address
from whesl.model.errors import TransientError, UsageError
from whesl.runtime.wire import keys
from whesl.runtime.wire.curve_sockets import ClientSocket

PATIENCE = 10.0  # seconds to wait for an answer
_AGAIN = 1.0  # seconds between two attempts to connect


class Told(NamedTuple):
    """A prediction's receivers: its id, a sentence for each receiver, and the receivers that are tasks."""

    id: str
    said: list[str]
    tasks: list[str]


def ask(
    address: Address,
    message: messages.ToCoordinator,
    patience: float = PATIENCE,
    home: Path | None = None,
) -> messages.Reply:
    """Send a message and return the answer.

    Args:
        address: the coordinator's address.
        message: the message.
        patience: seconds to wait for the answer.
        home: the WHESL home; None for ``WHESL_HOME``.

    Raises:
        TransientError: no answer came.
    """
    socket = ClientSocket(keys.user_keys(home or keys.home()).client)
    try:
        until = time.monotonic() + patience
        sent, tried, since = False, 0, 0.0
        while time.monotonic() < until:
            if not socket.connected and time.monotonic() - since > _AGAIN:
                socket.connect(address.endpoints[tried % len(address.endpoints)], address.key)
                tried, since = tried + 1, time.monotonic()
            socket.events()
            sent = sent or (socket.connected and socket.send(messages.encode(message)))
            for content in socket.receive():
                answer = messages.from_coordinator(content)
                if isinstance(answer, messages.Reply):
                    return answer
            time.sleep(0.005)
    finally:
        socket.close()
    raise TransientError(
        f"the coordinator of checkpoints does not answer at {address.endpoints[0]}",
        hint="try again; is its node up?",
    )


def address_of(name: str | None) -> Address | None:
    """Return the address of a job's coordinator, or of the user's only coordinator; None where there is none.

    ``name``: the job's name as the user gave it; None for the job that this process runs in.
    """
    chosen = rendezvous.name_of_job(name or os.environ.get("WHESL_CKPT_JOB"))
    address = rendezvous.find(rendezvous.folder(chosen))
    others = rendezvous.known()
    if address is None and name is None and len(others) == 1:
        (address,) = others.values()
    return address


def ask_job(name: str | None, message: messages.ToCoordinator) -> messages.Reply:
    """Send a message to the coordinator of ``address_of`` and return the answer.

    Args:
        name: the job's name, as of ``address_of``.
        message: the message.

    Raises:
        UsageError: the job has no coordinator.
        TransientError: the coordinator does not answer.
    """
    address = address_of(name)
    if address is None:
        others = rendezvous.known()
        chosen = rendezvous.name_of_job(name or os.environ.get("WHESL_CKPT_JOB"))
        there = f"there are: {', '.join(list(others)[:8])}" if others else "is the program still running?"
        raise UsageError(
            f"no coordinator of the checkpoints of job {chosen} was found",
            hint=f"--name JOB names another; {there}",
        )
    return ask(address, message)
