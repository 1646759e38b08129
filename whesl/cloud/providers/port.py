"""The port to a cloud: start one instance for a token, look, end; every implementation passes the same tests.

Errors: NoCapacityError when the cloud has no instance now, TokenMismatchError when a token was used for
another request, RefusedError when the cloud refused, TransientError when a start got no reply (the instance
may exist; a repeated call with the same token finds out), CouldNotObserveError when a look failed.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Annotated, Protocol, runtime_checkable

import msgspec

from whesl.model.errors import RefusedError, TransientError


class NoCapacityError(TransientError):
    """The cloud has no such instance now, or the account's limit is reached."""


class TokenMismatchError(RefusedError):
    """The token was used before, for a request with other parameters."""


class Market(Enum):
    """How an instance is billed. The provider may revoke a spot instance at any time."""

    ON_DEMAND = "on-demand"
    SPOT = "spot"


class InstanceState(Enum):
    """An instance's state; ``STOPPED`` instances may still cost money, ``ENDED`` ones no longer exist."""

    PENDING = "pending"
    RUNNING = "running"
    ENDING = "ending"
    STOPPED = "stopped"
    ENDED = "ended"


class EndReason(Enum):
    """The reason for which an instance ended, if the cloud reports it."""

    UNKNOWN = ""
    REQUESTED = "requested"
    END_TIME = "end time"
    REVOKED = "revoked"
    LOST = "lost"


class InstanceRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One instance to start.

    ``token`` identifies the request for ever. ``ends``: time at which the instance ends itself, in seconds
    since the epoch, even if the process that started it is gone. ``command``: a shell command that the
    instance runs; the instance ends with it; '' for none.
    """

    token: str
    workflow: str
    kind: str
    ends: float
    market: Market = Market.ON_DEMAND
    command: str = ""


class Instance(msgspec.Struct, frozen=True, kw_only=True):
    """An instance as the cloud reports it. Times are seconds since the epoch, 0 for unknown.

    ``revocation``: time at which the cloud revokes the instance, once the cloud has announced it.
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
        """Whether the instance does not run and costs nothing any more."""
        return self.state is InstanceState.ENDED


class Offer(msgspec.Struct, frozen=True, kw_only=True):
    """A price of an instance type, in dollars an hour."""

    kind: str
    market: Market
    hourly: float


class Provider(Protocol):
    """One cloud, under one account."""

    name: str

    def start(self, request: InstanceRequest) -> Instance:
        """Start an instance once: a second call with the same request returns the first one's instance."""

    def instances(self, workflow: str) -> list[Instance]:
        """Return a workflow's instances by their tag, ended ones for as long as the cloud knows them.

        An empty list does not prove that no instance exists: a cloud may show a new instance minutes later.
        """

    def find(self, token: str) -> Instance | None:
        """Return the instance of a token; None when the cloud shows none."""

    def terminate(self, ids: Sequence[str]) -> None:
        """End instances. Ended instances, and instances that the cloud has forgotten, are no error."""

    def close(self) -> None:
        """Release the provider's resources in this process; instances continue."""

    def prices(self, kinds: Sequence[str]) -> list[Offer]:
        """Return today's prices of kinds of instances, leaving out prices that the cloud does not report."""


@runtime_checkable
class TellsLimits(Protocol):
    """A provider that knows how many instances an account may have."""

    def most(self, kinds: Sequence[str], market: Market) -> dict[str, int]:
        """Return how many instances of each kind may run at once, leaving out kinds without a known limit.

        Args:
            kinds: names of the instance types.
            market: spot or on demand; a provider may limit both separately.
        """


class Ec2Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of an AWS account.

    ``image``: an AMI with WHESL installed. ``disk``: GB, 0 for the image's. ``endpoint``: '' for AWS's own.
    """

    region: str
    image: str
    subnet: str = ""
    security_groups: tuple[str, ...] = ()
    key_name: str = ""
    profile: str = ""
    disk: Annotated[int, msgspec.Meta(ge=0, le=1_000_000)] = 0
    endpoint: str = ""
