"""What the placement service does with waiting jobs: exclude lists follow the table, and never hold a job.

The plugin decides when a job is submitted; days may pass until it starts. A list that the plugin or the
service made is replaced when the table says otherwise, and removed when too few nodes are left, when the job
has waited for as long as it may run or the site lets one wait, and when the service ends. A list of the
user's own stays.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec

from whesl.placement.site.publish.plugin_file import NOTHING, Decision, Request, decide

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from whesl.placement.site.publish.plugin_file import Lookup

MOST = 200  # changes at a look: each is a call to the scheduler


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """A job as the scheduler shows it. ``submitted``: seconds since the epoch.

    ``named``: nodes that it has to have. ``blocked``: it waits for something else than nodes.
    """

    name: str
    waiting: bool
    request: Request
    excluded: tuple[str, ...]
    submitted: float
    named: tuple[str, ...] = ()
    blocked: bool = False


class Change(msgspec.Struct, frozen=True):
    """A waiting job's list is to be another one than ``before``."""

    job: str
    decision: Decision
    before: tuple[str, ...] = ()


def review(
    jobs: Iterable[Job],
    lookup: Lookup | None,
    ours: Mapping[str, frozenset[str]],
    now: float,
    longest: float = math.inf,
) -> list[Change]:
    """Return the lists that have to change, those first that get shorter; ``MOST``, or all to be removed.

    Args:
        jobs: as the scheduler shows them.
        lookup: what is published; None where nothing is known, or the service ends: lists are removed.
        ours: for jobs with a list that the plugin or the service made, that list.
        now: the current time, in seconds since the epoch.
        longest: seconds for which a job may wait for better nodes, at most as long as it may run.
    """
    changes: list[tuple[bool, Change]] = []
    decided: dict[Request, Decision] = {}
    for job in jobs:
        excluded = frozenset(job.excluded)
        if not job.waiting or (excluded and ours.get(job.name) != excluded):
            continue
        decision = _decision_of(job, lookup, now, longest, decided)
        if frozenset(decision.nodes) != excluded:
            changes.append((not excluded - set(decision.nodes), Change(job.name, decision, job.excluded)))
    changes.sort(key=lambda one: one[0])
    return [change for _, change in (changes[:MOST] if lookup is not None else changes)]


def would(jobs: Iterable[Job], lookup: Lookup, now: float, longest: float = math.inf) -> list[Change]:
    """Return the lists that jobs without one would have, those that run included.

    Args:
        jobs: as the scheduler shows them.
        lookup: what is published.
        now: the current time, in seconds since the epoch.
        longest: see ``review``.
    """
    decided: dict[Request, Decision] = {}
    found = [
        Change(job.name, _decision_of(job, lookup, now, longest, decided)) for job in jobs if not job.excluded
    ]
    return [change for change in found if change.decision.nodes]


def _decision_of(
    job: Job, lookup: Lookup | None, now: float, longest: float, decided: dict[Request, Decision]
) -> Decision:
    """Return the nodes that a job is kept off now; jobs that ask for the same share the answer."""
    limit = job.request.seconds
    if lookup is None or now - job.submitted > min(longest, math.inf if limit is None else limit):
        return NOTHING
    if job.request not in decided:
        decided[job.request] = decide(lookup, job.request)
    return decided[job.request]
