"""The exclude lists of waiting jobs: the placement service updates them, so that they hold no job.

The plugin decides when a job is submitted, which may be days before its start. An exclude list by the plugin
or the service is replaced when the table changes the decision. It is removed when too few nodes are left,
when the job has waited for its own time limit or for the site's limit of waiting, and when the service ends.
Lists that users give do not change.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import msgspec

from whesl.placement.site.publish.plugin_file import NOTHING, Decision, Lookup, Request, decide

MOST = 200  # largest number of changes per look, since each change calls the scheduler


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """A job as the scheduler shows it. ``submitted``: time of submission, in seconds since the epoch.

    ``named``: nodes that the job requires by name. ``blocked``: whether the job waits for something else than
    nodes. ``comment``: the administrators' comment on the job.
    """

    name: str
    waiting: bool
    request: Request
    excluded: tuple[str, ...]
    submitted: float
    named: tuple[str, ...] = ()
    blocked: bool = False
    comment: str = ""


class Change(msgspec.Struct, frozen=True):
    """A waiting job gets the exclude list of ``decision``; ``before`` and ``comment`` are what it has now."""

    job: str
    decision: Decision
    before: tuple[str, ...] = ()
    comment: str = ""


def review(
    jobs: Iterable[Job],
    lookup: Lookup | None,
    ours: Mapping[str, frozenset[str]],
    now: float,
    longest: float = math.inf,
) -> list[Change]:
    """Return the exclude lists to change, those that get shorter first: at most ``MOST``, or all removals.

    Args:
        jobs: the jobs as the scheduler shows them.
        lookup: content of the plugin's file; None to remove all lists, without predictions or when the
            service ends.
        ours: by job name, the exclude list that the plugin or the service has made.
        now: the current time, in seconds since the epoch.
        longest: longest time in seconds that a job waits for better nodes, besides the job's own time limit.
    """
    changes: list[tuple[bool, Change]] = []
    decided: dict[Request, Decision] = {}
    for job in jobs:
        excluded = frozenset(job.excluded)
        if not job.waiting or (excluded and ours.get(job.name) != excluded):
            continue
        decision = _decision_of(job, lookup, now, longest, decided)
        if frozenset(decision.nodes) != excluded:
            change = Change(job.name, decision, job.excluded, job.comment)
            changes.append((not excluded - set(decision.nodes), change))
    changes.sort(key=lambda one: one[0])
    return [change for _, change in (changes[:MOST] if lookup is not None else changes)]


def would(jobs: Iterable[Job], lookup: Lookup, now: float, longest: float = math.inf) -> list[Change]:
    """Return the exclude lists that waiting and running jobs without a list would get.

    Args:
        jobs: the jobs as the scheduler shows them.
        lookup: content of the plugin's file.
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
    """Return the nodes that a job is kept off now; jobs with equal requests share the decision."""
    limit = job.request.seconds
    if lookup is None or now - job.submitted > min(longest, math.inf if limit is None else limit):
        return NOTHING
    if job.request not in decided:
        decided[job.request] = decide(lookup, job.request)
    return decided[job.request]
