"""What agents, the coordinator and the command line say: msgpack, one tagged record a message."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

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

if TYPE_CHECKING:
    from collections.abc import Callable

Message = TypeVar("Message")

VERSION = 1


class Written(Record, frozen=True, kw_only=True, tag="written"):
    """All of a node's parts are durable."""

    node: str
    epoch: int
    parts: tuple[Part, ...]


class Verified(Record, frozen=True, kw_only=True, tag="verified"):
    """How many of a node's ranks have found their part of a checkpoint whole, and how many have not."""

    node: str
    epoch: int
    good: int
    bad: int


class StatusAsked(Record, frozen=True, kw_only=True, tag="status"):
    """A client asks for the coordinator's state."""


class Stop(Record, frozen=True, kw_only=True, tag="stop"):
    """The job is over: end."""


class Candidate(Record, frozen=True, kw_only=True, tag="candidate"):
    """Agents: let your ranks verify this checkpoint when they ask for one to restore; 0 for none."""

    epoch: int


class Agreed(Record, frozen=True, kw_only=True, tag="agreed"):
    """Agents: all ranks of the job have verified this checkpoint; 0: there is none."""

    epoch: int


class Slow(Record, frozen=True, kw_only=True, tag="slow"):
    """These ranks of a node still write, so many seconds after they were let to."""

    node: str
    epoch: int
    ranks: tuple[int, ...]
    seconds: float


class Over(Record, frozen=True, kw_only=True, tag="over"):
    """Agents: the program has ended; end as well."""


class Reply(Record, frozen=True, kw_only=True, tag="reply"):
    """What a control message led to.

    Attributes:
        text: for people.
        refused: whether it could not be followed.
        status: what the coordinator knows, where that was asked.
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
    """Return a message as bytes, with the version in front."""
    return bytes([VERSION]) + _encoder.encode(message)


def to_coordinator(content: bytes) -> ToCoordinator:
    """Read what an agent or the command line says.

    Raises:
        WheslError: it is of another version, or no message.
    """
    return _decoded(content, _to.decode)


def from_coordinator(content: bytes) -> FromCoordinator:
    """Read what the coordinator says. Errors as of ``to_coordinator``."""
    return _decoded(content, _from.decode)


def _decoded(content: bytes, decode: Callable[[bytes], Message]) -> Message:
    if content[:1] != bytes([VERSION]):
        raise WheslError("a message of another version", hint="all nodes have to run the same WHESL")
    try:
        return decode(content[1:])
    except msgspec.MsgspecError as error:
        raise WheslError(f"no message: {error}") from error
