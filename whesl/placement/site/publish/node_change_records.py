"""What the placement service writes down: every change of a node before it is made, and what became of it."""

from __future__ import annotations

from enum import Enum

import msgspec

from whesl.model.journal_record import Record


class What(str, Enum):
    """The property of a node that is changed."""

    WEIGHT = "weight"
    FEATURE = "feature"
    DRAIN = "drain"


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """A change that is in force, or about to be: the setting before, and the new one.

    ``until``: when it ends at the latest, None for as long as it is wanted. ``seen``: it was seen in force.
    ``failed``: the node went down meanwhile.
    """

    node: str
    what: What
    before: str
    after: str
    since: float
    until: float | None = None
    seen: bool = False
    failed: bool = False


class Changing(Record, frozen=True, kw_only=True, tag="changing"):
    """A change is about to be made."""

    change: Held


class Seen(Record, frozen=True, kw_only=True, tag="seen"):
    """A change was seen in force, or its node was seen to fail."""

    node: str
    what: What
    failed: bool = False


class Released(Record, frozen=True, kw_only=True, tag="released"):
    """A change is no more, and why: undone, gone, taken over by an administrator.

    ``hold_off``: until when the node is not drained again, in seconds since the epoch.
    """

    node: str
    what: What
    why: str
    hold_off: float | None = None


class Would(Record, frozen=True, kw_only=True, tag="would"):
    """A change that is not made, since the service observes only."""

    change: Held


class WouldNot(Record, frozen=True, kw_only=True, tag="would-not"):
    """Such a change would have ended; ``failed``: its node went down meanwhile."""

    node: str
    what: What
    failed: bool = False


class JobSeen(Record, frozen=True, kw_only=True, tag="job"):
    """A job that is kept off nodes, or would be: by the plugin, or by the service while it waits."""

    job: str
    nodes: str
    said: str
    would: bool = False


class JobReleased(Record, frozen=True, kw_only=True, tag="job-released"):
    """A waiting job's list was changed or removed, and why."""

    job: str
    nodes: str
    why: str


class Failed(Record, frozen=True, kw_only=True, tag="failed"):
    """Slurm did not do what it was told."""

    command: str
    said: str


RECORDS = Changing | Seen | Released | Would | WouldNot | JobSeen | JobReleased | Failed
