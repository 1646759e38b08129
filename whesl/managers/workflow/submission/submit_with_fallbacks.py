"""What a scheduler is asked for on a task's behalf, and the less that it is asked for when it refuses that.

What works without us has to work with us: with a node more than a limit allows, or with nodes excluded, a
scheduler refuses a job, or takes it and never starts it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol, TypeVar

from whesl.managers.resource.port import Scheduler
from whesl.managers.workflow.script_wrapping import WrappedScript
from whesl.managers.workflow.submission import bad_nodes_file, once
from whesl.model import home as places
from whesl.model.errors import RefusedError, WheslError


class Wish(Protocol):
    """A job as it would be submitted. ``spares``: how many of its nodes are; ``notices``: for the caller."""

    @property
    def spares(self) -> int: ...

    @property
    def notices(self) -> Sequence[str]: ...


def too_many(scheduler: Scheduler, nodes: int) -> str:
    """Return why a job could never run with so many nodes, "" when it could or that is not known."""
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
    """Submit a task's job once: with spares and off bad nodes, or without what the scheduler refuses.

    Args:
        wrapped: the task's script.
        environment: the caller's, which may name the WHESL home.
        scheduler: finds the jobs of earlier submissions of the task.
        rewrite: returns the job with a token, with spares or without, and kept off some nodes.
        impossible: returns why the scheduler could never run a job, "" when it could or does not say.
        call: submits a job and returns its id; raises RefusedError.
        excludes_none: why the scheduler cannot keep a job off nodes, "" where it can.

    Returns the job's id, and prints what the caller should know on standard error. Raises what ``call``
    raises, of refusals the last one, and what ``once.submit_once`` raises.
    """
    home = Path(places.chosen(environment, wrapped.home))
    ledger = once.Ledger(places.submissions(home, wrapped.workflow), wrapped.task)

    def attempt(token: str) -> str:
        return _attempt(
            wrapped,
            bad_nodes_file.read(home, time.time()),
            lambda spares, avoided: rewrite(token, spares, avoided),
            impossible,
            call,
            excludes_none,
        )

    with ledger.locked():
        return once.submit_once(ledger, wrapped.task, scheduler, attempt, time.sleep, time.time)


def _attempt(
    wrapped: WrappedScript,
    bad: tuple[str, ...],
    rewrite: Callable[[bool, tuple[str, ...]], W],
    impossible: Callable[[W], str],
    call: Callable[[W], str],
    excludes_none: str,
) -> str:
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
