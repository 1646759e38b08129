"""Asks a job's coordinator: what the command line and the isolator say to it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from whesl.ckpt import messages
from whesl.model.errors import TransientError
from whesl.wire import keys
from whesl.wire.curve_sockets import ClientSocket

if TYPE_CHECKING:
    from pathlib import Path

    from whesl.ckpt.rendezvous import Address

PATIENCE = 10.0  # seconds for an answer
_AGAIN = 1.0  # seconds between two attempts to connect


def ask(
    address: Address,
    message: messages.ToCoordinator,
    patience: float = PATIENCE,
    home: Path | None = None,
) -> messages.Reply:
    """Send a message and return the answer.

    Args:
        address: the coordinator's.
        message: what is said.
        patience: seconds for the answer.
        home: the WHESL home; None for that of ``WHESL_HOME``.

    Raises:
        TransientError: there is none.
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
