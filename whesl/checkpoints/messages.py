"""Messages between agents, the coordinator and the command line: one tagged record each, in msgpack."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import msgspec

from whesl.checkpoints.core.states_and_events import (
    Answered,
    Ask,
    CommitFailed,
    Grant,
    Joined,
    Lost,
    Predicted,
    Record,
    Release,
    Requested,
    Withdrawn,
)
from whesl.checkpoints.manifest import Part
from whesl.model.errors import WheslError

Message = TypeVar("Message")

VERSION = 1


class Written(Record, frozen=True, kw_only=True, tag="written"):
    """All of a node's parts are durable."""

    node: str
    epoch: int
    parts: tuple[Part, ...]


class Verified(Record, frozen=True, kw_only=True, tag="verified"):
    """The numbers of a node's ranks that have found their parts of a checkpoint whole, and damaged."""

    node: str
    epoch: int
    good: int
    bad: int


class StatusAsked(Record, frozen=True, kw_only=True, tag="status"):
    """A client asks for the coordinator's state."""


class Stop(Record, frozen=True, kw_only=True, tag="stop"):
    """Tell the coordinator to end, since the job is over."""


class Candidate(Record, frozen=True, kw_only=True, tag="candidate"):
    """Tell agents which checkpoint their ranks have to verify before restoring; 0 for none."""

    epoch: int


class Agreed(Record, frozen=True, kw_only=True, tag="agreed"):
    """Tell agents which checkpoint all ranks of the job have verified; 0 if there is no checkpoint."""

    epoch: int


class Slow(Record, frozen=True, kw_only=True, tag="slow"):
    """Report ranks of a node that still write, ``seconds`` after they were allowed to."""

    node: str
    epoch: int
    ranks: tuple[int, ...]
    seconds: float


class Over(Record, frozen=True, kw_only=True, tag="over"):
    """Tell agents to end, since the program has ended."""


class Reply(Record, frozen=True, kw_only=True, tag="reply"):
    """The answer to a control message.

    Attributes:
        text: a sentence about the result.
        refused: whether the message could not be carried out.
        status: the coordinator's state, where the message requested it.
    """

    text: str = ""
    refused: bool = False
    status: dict[str, object] = msgspec.field(default_factory=dict)


ToCoordinator = (
    Joined
    | Answered
    | Written
    | Slow
    | CommitFailed
    | Verified
    | Lost
    | Predicted
    | Withdrawn
    | Requested
    | StatusAsked
    | Stop
)
FromCoordinator = Ask | Grant | Release | Candidate | Agreed | Over | Reply

_encoder = msgspec.msgpack.Encoder()
_to: msgspec.msgpack.Decoder[ToCoordinator] = msgspec.msgpack.Decoder(ToCoordinator)
_from: msgspec.msgpack.Decoder[FromCoordinator] = msgspec.msgpack.Decoder(FromCoordinator)


def encode(message: ToCoordinator | FromCoordinator) -> bytes:
    """Return a message as bytes, beginning with the protocol's version."""
    return bytes([VERSION]) + _encoder.encode(message)


def to_coordinator(content: bytes) -> ToCoordinator:
    """Decode a message of an agent or the command line.

    Raises:
        WheslError: the content has another version, or is no message.
    """
    return _decoded(content, _to.decode)


def from_coordinator(content: bytes) -> FromCoordinator:
    """Decode a message of the coordinator. Raises the errors of ``to_coordinator``."""
    return _decoded(content, _from.decode)


def _decoded(content: bytes, decode: Callable[[bytes], Message]) -> Message:
    if content[:1] != bytes([VERSION]):
        raise WheslError("a message of another version", hint="all nodes have to run the same WHESL")
    try:
        return decode(content[1:])
    except msgspec.MsgspecError as error:
        raise WheslError(f"no message: {error}") from error
