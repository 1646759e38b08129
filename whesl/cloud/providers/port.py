"""The port to a cloud: start one instance for a token, look, end; every implementation passes the same tests.

Errors: NoCapacityError when there is none now, TokenMismatchError when a token was used for something else,
RefusedError when the cloud said no, TransientError when no reply came to a start (the instance may exist:
the same call again, with the same token, tells), CouldNotObserveError when a look did not succeed.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Protocol, runtime_checkable

import msgspec

from whesl.model.errors import RefusedError, TransientError


class NoCapacityError(TransientError):
    """The cloud has no such instance now, or the account's limit is reached."""


class TokenMismatchError(RefusedError):
    """The token was used before, for a request with other parameters."""


class Market(Enum):
    """How an instance is paid for. A spot instance may be taken away at any time."""

    ON_DEMAND = "on-demand"
    SPOT = "spot"


class InstanceState(Enum):
    """``STOPPED`` instances do not compute and may still cost money; ``ENDED`` ones are gone."""

    PENDING = "pending"
    RUNNING = "running"
    ENDING = "ending"
    STOPPED = "stopped"
    ENDED = "ended"


class EndReason(Enum):
    """Why an instance ended, as far as the cloud says."""

    UNKNOWN = ""
    REQUESTED = "requested"
    END_TIME = "end time"
    REVOKED = "revoked"
    LOST = "lost"


class InstanceRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One instance to start.

    ``token`` identifies it for ever. ``ends``: when the instance ends itself, in seconds since the epoch,
    whoever started it being there or not. ``command``: a shell command
    that the instance runs when it is up, and whose end is its end; '' for none.
    """

    token: str
    workflow: str
    kind: str
    ends: float
    market: Market = Market.ON_DEMAND
    command: str = ""


class Instance(msgspec.Struct, frozen=True, kw_only=True):
    """What the cloud says of an instance. Times are seconds since the epoch, 0 when not known.

    ``revocation``: when the cloud takes it away, once it has said so.
    """

    id: str
    token: str
    workflow: str
    kind: str
    state: InstanceState
    market: Market = Market.ON_DEMAND
    reason: EndReason = EndReason.UNKNOWN
    asked: float = 0.0
    ends: float = 0.0
    ended: float = 0.0
    revocation: float = 0.0
    address: str = ""

    @property
    def gone(self) -> bool:
        """Whether nothing of it runs or costs any more."""
        return self.state is InstanceState.ENDED


class Offer(msgspec.Struct, frozen=True, kw_only=True):
    """A price, in dollars an hour."""

    kind: str
    market: Market
    hourly: float


class Provider(Protocol):
    """One cloud, under one account."""

    name: str

    def start(self, request: InstanceRequest) -> Instance:
        """Start an instance once: a second call with the same request returns the first one's instance."""
        ...

    def instances(self, workflow: str) -> list[Instance]:
        """Return a workflow's instances by their tag; those that ended as long as the cloud knows them.

        An empty list proves nothing: a cloud may show an instance minutes after it was started.
        """
        ...

    def find(self, token: str) -> Instance | None:
        """Return the instance of a token, when the cloud shows one."""
        ...

    def terminate(self, ids: Sequence[str]) -> None:
        """End instances. One that has ended, or that the cloud does not know any more, is no error."""
        ...

    def close(self) -> None:
        """Let go of what runs here for the sake of the port; instances go on."""
        ...

    def prices(self, kinds: Sequence[str]) -> list[Offer]:
        """Return today's prices of kinds of instances, without those that the cloud does not say."""
        ...


@runtime_checkable
class TellsLimits(Protocol):
    """A provider that knows how many instances an account may have."""

    def most(self, kinds: Sequence[str], market: Market) -> dict[str, int]:
        """Return how many instances of each kind may run at once, without kinds that nothing is known of."""
        ...
