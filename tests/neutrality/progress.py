"""What is done to a job from outside, and when. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

import msgspec

from tests.neutrality.records import Act, When

_ENDED = frozenset(
    [
        "COMPLETED",
        "FAILED",
        "CANCELLED",
        "TIMEOUT",
        "NODE_FAIL",
        "PREEMPTED",
        "BOOT_FAIL",
        "DEADLINE",
        "OUT_OF_MEMORY",
    ]
)
_NEVER = "DependencyNeverSatisfied"


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """What a look shows of one run: its jobs' fields in order of their ids, and the files it has made."""

    jobs: tuple[Mapping[str, str], ...]
    files: Collection[str] = ()


def ended(job: Mapping[str, str]) -> bool:
    """Whether a job has ended, or can never begin."""
    return job.get("JobState", "") in _ENDED or job.get("Reason") == _NEVER


def due(act: Act, seen: Seen) -> bool:
    """Whether the act's time has come."""
    if not seen.jobs:
        return False
    job = seen.jobs[0]
    state = job.get("JobState", "")
    if act.when is When.MARK:
        return act.mark in seen.files
    if act.when is When.AGAIN:
        return state == "PENDING" and int(job.get("Restarts", "0")) >= act.times
    if act.when is When.ENDED:
        return ended(job)
    return act.when is When.SEEN or state == act.when.name


def command(act: Act, seen: Seen, place: str, nodes: Sequence[str]) -> tuple[str, ...]:
    """Return an act's words filled in.

    Args:
        act: what is to be done.
        seen: the run as it is now.
        place: its directory.
        nodes: those of its job.
    """
    job = seen.jobs[0]
    values = {
        "job": job.get("ArrayJobId") or job.get("HetJobId") or job["JobId"],
        "place": place,
        "twin": place.rsplit("/", 1)[-1],
        "host": job.get("BatchHost", ""),
        "node": nodes[-1] if nodes else "",
    }
    return tuple(re.sub(r"\{(\w+)\}", lambda found: values.get(found[1], found[0]), word) for word in act.do)
