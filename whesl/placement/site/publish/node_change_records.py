"""The placement service's journal records: each change of a node before it is made, and its outcome."""

from __future__ import annotations

from enum import Enum

import msgspec

from whesl.model.journal_record import Record


class What(str, Enum):
    """The property of a node that a change affects."""

    WEIGHT = "weight"
    FEATURE = "feature"
    DRAIN = "drain"


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """A change in force or about to be made, with the old setting (``before``) and the new one (``after``).

    ``until``: latest end of the change in seconds since the epoch, None for no limit. ``seen``: whether the
    change was observed in force. ``failed``: whether the node went down during the change.
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
    """The record that a change is about to be made."""

    change: Held


class Seen(Record, frozen=True, kw_only=True, tag="seen"):
    """The record that a change was observed in force, or that its node failed."""

    node: str
    what: What
    failed: bool = False


class Released(Record, frozen=True, kw_only=True, tag="released"):
    """The record that a change ended, with the reason: undone, gone, or replaced by an administrator.

    ``hold_off``: time before which the node is not drained again, in seconds since the epoch; None for none.
    """

    node: str
    what: What
    why: str
    hold_off: float | None = None


class Would(Record, frozen=True, kw_only=True, tag="would"):
    """The record of a change that would be made, if the service did not only observe."""

    change: Held


class WouldNot(Record, frozen=True, kw_only=True, tag="would-not"):
    """The record that a change would have ended; ``failed``: whether the node went down during the change."""

    node: str
    what: What
    failed: bool = False


class JobSeen(Record, frozen=True, kw_only=True, tag="job"):
    """The record that a job is kept off nodes, or would be, by the plugin or the service."""

    job: str
    nodes: str
    said: str
    would: bool = False


class JobReleased(Record, frozen=True, kw_only=True, tag="job-released"):
    """The record that a waiting job's exclude list was changed or removed, with the reason."""

    job: str
    nodes: str
    why: str


class Failed(Record, frozen=True, kw_only=True, tag="failed"):
    """The record that Slurm did not carry out a command."""

    command: str
    said: str


RECORDS = Changing | Seen | Released | Would | WouldNot | JobSeen | JobReleased | Failed
