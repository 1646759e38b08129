"""The events that the runner's core gets, and the commands that it gives to its shell."""

from __future__ import annotations

import msgspec

from whesl.cloud.core.plan_records import Domain, Platform
from whesl.cloud.runner.messages import Assignment, ExecutorReport
from whesl.cloud.runner.run_records import ExecutorAsked, ExecutorState
from whesl.cloud.transfer.port import Digest


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """The state of an executor according to its side; ``revoked``: the provider will take it away soon."""

    state: ExecutorState
    handle: str = ""
    why: str = ""
    revoked: bool = False


class Looked(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The states of a side's executors, from a look that began at ``began``."""

    domain: Domain
    began: float
    seen: dict[str, Seen]


class Heard(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """All messages that lay in a domain's storage at ``began``, and perhaps newer ones."""

    domain: Domain
    began: float
    said: tuple[ExecutorReport, ...]


class Refused(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """An executor was certainly not started."""

    id: str
    why: str


class Copied(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A copy has ended; where it has failed, ``digest`` is None and ``why`` gives the reason."""

    name: str
    domain: Domain
    digest: Digest | None = None
    seconds: float = 0.0
    why: str = ""


class Tick(msgspec.Struct, frozen=True, tag=True):
    """Time has passed."""


Event = Looked | Heard | Refused | Copied | Tick


class Start(msgspec.Struct, frozen=True, tag=True):
    """Start an executor; a repeated command does not start a second one.

    ``again``: an earlier owner of the run may have requested this executor already.
    """

    asked: ExecutorAsked
    again: bool = False


class End(msgspec.Struct, frozen=True, tag=True):
    """End an executor."""

    id: str
    domain: Domain
    handle: str


class Send(msgspec.Struct, frozen=True, tag=True):
    """Give an assignment to an executor."""

    executor: str
    domain: Domain
    assignment: Assignment


class Copy(msgspec.Struct, frozen=True, tag=True):
    """Copy a file from the other domain to this one."""

    name: str
    domain: Domain
    expected: Digest


class Forget(msgspec.Struct, frozen=True, tag=True):
    """Remove handled messages from a domain's storage."""

    domain: Domain
    names: tuple[str, ...]


Command = Start | End | Send | Copy | Forget


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of a run.

    ``retries``: number of repetitions of a task whose command failed. ``losses``: number of executors that
    one task may lose. ``platforms``: the cloud's platforms, with prices in ``currency``. ``spot``: spot
    instances are requested. ``again``: seconds until a failed copy or call is repeated. ``rules``: files of
    ESL for all tasks. ``strict``: an instance only takes tasks of stages that request its type. ``stop``:
    time at which the run ends even if tasks remain, seconds since the epoch. ``unseen``: seconds after which
    an executor that was told to end before its start was answered, and that its side does not show, counts
    as never started. ``cloud_instead``: instances are also paid for while the cluster refuses its part.
    """

    retries: int = 2
    losses: int = 10
    budget: float | None = None
    platforms: tuple[Platform, ...] = ()
    currency: str = ""
    spot: bool = False
    again: float = 10.0
    rules: tuple[str, ...] = ()
    strict: bool = False
    stop: float | None = None
    unseen: float = 120.0
    cloud_instead: bool = False
