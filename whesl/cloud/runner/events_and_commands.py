"""What the runner's core is told, and what it asks its shell to do."""

from __future__ import annotations

import msgspec

from whesl.cloud.core.plan_records import Domain, Platform
from whesl.cloud.runner.messages import Assignment, ExecutorReport
from whesl.cloud.runner.run_records import ExecutorAsked, ExecutorState
from whesl.cloud.transfer.port import Digest


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """The state of an executor according to its side; ``revoked``: it will be taken away soon."""

    state: ExecutorState
    handle: str = ""
    why: str = ""
    revoked: bool = False


class Looked(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A side's executors, as a look that began at ``began`` has shown them."""

    domain: Domain
    began: float
    seen: dict[str, Seen]


class Heard(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """All messages that lay in a domain at ``began`` or came since."""

    domain: Domain
    began: float
    said: tuple[ExecutorReport, ...]


class Refused(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """An executor was not started, for sure."""

    id: str
    why: str


class Copied(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A copy has ended; without ``digest`` it has not succeeded, and ``why``."""

    name: str
    domain: Domain
    digest: Digest | None = None
    seconds: float = 0.0
    why: str = ""


class Tick(msgspec.Struct, frozen=True, tag=True):
    """Time has passed."""


Event = Looked | Heard | Refused | Copied | Tick


class Start(msgspec.Struct, frozen=True, tag=True):
    """Start an executor; the same one again is no second one.

    ``again``: an earlier owner of the run may have asked its side for it.
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
    """Remove messages that were handled."""

    domain: Domain
    names: tuple[str, ...]


Command = Start | End | Send | Copy | Forget


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What a run may do.

    ``retries``: times that a task whose command failed is run again; ``losses``: executors that it may lose.
    ``platforms``: of the cloud, with their prices in ``currency``. ``spot``: spot instances are asked for.
    ``again``: seconds until a copy or a call that failed is repeated. ``rules``: files of ESL for all tasks.
    ``strict``: an instance only takes tasks of stages that ask for its type. ``stop``: when the run is ended,
    whatever is done, seconds since the epoch. ``unseen``: seconds after which an executor that was to end
    before its side had told a name was never started, where the side has not shown it. ``cloud_instead``:
    instances are also paid for while the cluster refuses its part.
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
