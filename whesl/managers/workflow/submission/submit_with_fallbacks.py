"""Submits a task's job with spares and without bad nodes, and with fewer demands when the scheduler refuses.

A job that runs without WHESL has to run with WHESL: with more nodes than a limit allows, or with excluded
nodes, a scheduler may refuse a job, or accept it and never start it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol, TypeVar

import msgspec

from whesl.managers.resource.port import Scheduler
from whesl.managers.workflow.script_wrapping import WrappedScript
from whesl.managers.workflow.submission import bad_nodes_file, exactly_once_submission
from whesl.model import home as places
from whesl.model.errors import CouldNotObserveError, RefusedError, WheslError


class Wish(Protocol):
    """A job to submit. ``spares``: how many of its ``nodes`` are spares; ``notices``: texts for the caller.

    ``nodes`` is 0 where the job may not run on fewer.
    """

    @property
    def spares(self) -> int: ...

    @property
    def nodes(self) -> int: ...

    @property
    def notices(self) -> Sequence[str]: ...


def too_many(scheduler: Scheduler, nodes: int) -> str:
    """Return the reason why a job of that many nodes could never run, "" when it could or that is unknown.

    Args:
        scheduler: the scheduler.
        nodes: the job's number of nodes.
    """
    try:
        there = len(scheduler.nodes())
    except WheslError:
        return ""
    return f"{scheduler.name} has {there} nodes, and {nodes} are asked for" if there < nodes else ""


W = TypeVar("W", bound=Wish)


def submit(
    wrapped: WrappedScript,
    environment: Mapping[str, str],
    scheduler: Scheduler,
    *,
    rewrite: Callable[[str, bool, tuple[str, ...]], W],
    impossible: Callable[[W], str],
    call: Callable[[W], str],
    excludes_none: str = "",
) -> str:
    """Submit a task's job once: with spares and without bad nodes, or without the demands that are refused.

    Args:
        wrapped: the options in the task's wrapped script.
        environment: the caller's environment, which may name WHESL_HOME.
        scheduler: finds the jobs of earlier submissions of the task.
        rewrite: returns the job with a token, with or without spares, and without the nodes to avoid.
        impossible: returns the reason why the scheduler could never run a job, "" when it could or that is
            unknown.
        call: submits a job and returns its id; raises RefusedError.
        excludes_none: the reason why the scheduler cannot exclude nodes, "" where it can.

    Returns the job's id, and prints notices on standard error. Raises the errors of ``call`` (the last
    refusal) and of ``exactly_once_submission.submit_once``.
    """
    home = Path(places.chosen(environment, wrapped.home))
    ledger = exactly_once_submission.Ledger(places.submissions(home, wrapped.workflow), wrapped.task)
    called: list[W] = []

    def kept(wish: W) -> str:
        called.append(wish)
        job = call(wish)
        if not job:
            raise CouldNotObserveError(f"the reply of {scheduler.name} to the submission has no job id")
        return job

    def attempt(token: str) -> str:
        return submit_now(
            wrapped,
            home,
            rewrite=lambda spares, avoided: rewrite(token, spares, avoided),
            impossible=impossible,
            call=kept,
            excludes_none=excludes_none,
        )

    with ledger.locked():
        job = exactly_once_submission.submit_once(
            ledger, wrapped.task, scheduler, attempt, time.sleep, time.time
        )
        if called and called[-1].spares and called[-1].nodes and (known := ledger.read()):
            fewest = called[-1].nodes - called[-1].spares
            ledger.write(msgspec.structs.replace(known, sizes=(fewest, called[-1].nodes)))
        return job


def submit_now(
    wrapped: WrappedScript,
    home: Path,
    *,
    rewrite: Callable[[bool, tuple[str, ...]], W],
    impossible: Callable[[W], str],
    call: Callable[[W], str],
    excludes_none: str = "",
) -> str:
    """Submit a job as ``submit`` does, whether or not there is an earlier one; return what ``call`` returns.

    Args:
        wrapped: what the job needs.
        home: the WHESL home, whose list of bad nodes is read.
        rewrite: returns the job with or without spares, and without the nodes to avoid.
        impossible: as for ``submit``.
        call: as for ``submit``.
        excludes_none: as for ``submit``.

    Raises the errors of ``call``.
    """
    bad = bad_nodes_file.read(home, time.time())
    said: dict[str, None] = {}
    if bad and excludes_none:
        said[f"whesl: {wrapped.task} is not kept off {', '.join(bad)}: {excludes_none}"] = None
        bad = ()
    variants = [
        (spares, avoided)
        for spares in dict.fromkeys((bool(wrapped.spares), False))
        for avoided in dict.fromkeys((bad, ()))
    ]
    reason = job = ""
    for spares, avoided in variants:
        last = (spares, avoided) == variants[-1]
        wish = rewrite(spares, avoided)
        said.update(dict.fromkeys(wish.notices))
        if spares and not wish.spares:
            continue
        refusal = "" if last else impossible(wish)
        if not refusal:
            try:
                job = call(wish)
            except RefusedError as error:
                if last:
                    raise
                refusal = error.message
        if refusal:
            reason = reason or refusal
            continue
        if reason and wrapped.spares and not spares:
            said[f"whesl: {wrapped.task} has no spare node: {reason}"] = None
        if reason and bad and not avoided:
            said[f"whesl: {wrapped.task} is not kept off {', '.join(bad)}: {reason}"] = None
        break
    for notice in said:
        print(notice, file=sys.stderr)  # noqa: T201 - it stands in for a command
    return job
