"""A run's summary as text and as JSON, computed from the run's records alone."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec

from whesl.cloud.core.plan_records import Domain
from whesl.cloud.runner.run_records import ExecutorState
from whesl.cloud.runner.state import RunState


class StageSummary(msgspec.Struct, frozen=True, kw_only=True):
    """One stage: its tasks, and how many were done on which side."""

    stage: str
    tasks: int
    done: int
    running: int
    on_cluster: int
    in_cloud: int


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """A run's summary. Times are seconds since the epoch, node-hours are hours, costs are in ``currency``.

    ``carried``: whether a runner seems to carry the run out now.
    """

    workflow: str
    run: str
    state: str
    carried: bool
    why: str
    begun: float
    ended: float
    deadline: float
    expected: float | None
    met: bool | None
    tasks: int
    done: int
    failed: tuple[str, ...]
    lost: int
    stages: tuple[StageSummary, ...]
    executors: dict[str, dict[str, int]]
    cluster_hours: float
    cloud_hours: float
    cost: float
    budget: float | None
    currency: str
    copied: int
    troubles: dict[str, str]


def summary(state: RunState, now: float, *, carried: bool = False) -> Summary:
    """Return a run's summary at the present time.

    Args:
        state: the run's state.
        now: seconds since the epoch.
        carried: whether a runner carries the run out.
    """
    started = state.started
    running, sides = Counter[str](), Counter[tuple[str, Domain]]()
    for progress in state.tasks.values():
        if progress.done and progress.domain is not None:
            sides[progress.task.stage, progress.domain] += 1
        elif progress.executor:
            running[progress.task.stage] += 1
    executors: dict[str, Counter[str]] = {domain.value: Counter() for domain in Domain}
    hours = dict.fromkeys(Domain, 0.0)
    for one in state.executors.values():
        executors[one.domain.value][one.state.value] += 1
        begun = one.up if one.domain is Domain.HPC else one.since
        if begun and one.handle:
            hours[one.domain] += ((one.gone or now) - begun) / 3600
    done = sum(state.done.values())
    word = "not begun" if started is None else "running"
    met = None
    if state.ended is not None:
        word = "done" if state.ended.complete else "ended"
        met = state.ended.complete and state.ended_at <= (started.deadline if started else 0.0)
    return Summary(
        workflow=state.workflow.name,
        run=started.run if started else "",
        state=word,
        carried=carried and state.ended is None,
        why=state.ended.why if state.ended else "",
        begun=state.begun,
        ended=state.ended_at,
        deadline=started.deadline if started else 0.0,
        expected=state.risk.expected if state.risk else None,
        met=met,
        tasks=len(state.tasks),
        done=done,
        failed=tuple(name for name, one in state.tasks.items() if one.final),
        lost=sum(one.lost for one in state.tasks.values()),
        stages=tuple(
            StageSummary(
                stage=stage.name,
                tasks=stage.tasks,
                done=state.done[stage.name],
                running=running[stage.name],
                on_cluster=sides[stage.name, Domain.HPC],
                in_cloud=sides[stage.name, Domain.CLOUD],
            )
            for stage in state.workflow.stages
        ),
        executors={side: dict(counts) for side, counts in executors.items()},
        cluster_hours=hours[Domain.HPC],
        cloud_hours=hours[Domain.CLOUD],
        cost=state.cost(now),
        budget=started.budget if started else None,
        currency=started.currency if started else "",
        copied=state.copied,
        troubles=dict(state.troubles),
    )


def lines(found: Summary, now: float) -> list[str]:
    """Return a summary as lines of text.

    Args:
        found: the summary.
        now: seconds since the epoch.
    """
    left = found.deadline - (found.ended or now)
    said = [f"{found.workflow}: {found.state}, {found.done} of {found.tasks} tasks done"]
    if found.state == "running" and not found.carried:
        said.append(
            "  nobody carries it out: the same `whesl cloud run` takes it up, `whesl cloud stop` ends it"
        )
    if found.why:
        said.append(f"  {found.why}")
    if found.begun:
        when = f"{_duration(abs(left))} {'before' if left >= 0 else 'after'} the deadline"
        said.append(f"  {'ended' if found.ended else 'now'} {when}")
    if found.expected is not None and not found.ended:
        late = _duration(max(0.0, found.expected - found.deadline))
        said.append(f"  the deadline will likely be missed, by {late} or more")
    budget = f" of {found.budget:.2f}" if found.budget is not None else ""
    cost = f"cost {found.cost:.2f}{budget} {found.currency}".rstrip()
    said.append(f"  {cost}; node-hours {found.cluster_hours:.2f} cluster, {found.cloud_hours:.2f} cloud")
    width = max((len(stage.stage) for stage in found.stages), default=5)
    said.append(f"  {'STAGE':<{width}} {'TASKS':>7} {'DONE':>7} {'RUNS':>6} {'CLUSTER':>8} {'CLOUD':>7}")
    for one in found.stages:
        said.append(
            f"  {one.stage:<{width}} {one.tasks:>7} {one.done:>7} {one.running:>6}"
            f" {one.on_cluster:>8} {one.in_cloud:>7}"
        )
    for side, counts in found.executors.items():
        shown = ", ".join(
            f"{counts[state.value]} {state.value}" for state in ExecutorState if state.value in counts
        )
        if shown:
            said.append(f"  executors, {side}: {shown}")
    if found.lost:
        said.append(f"  {found.lost} tasks lost with their executors")
    if found.failed:
        said.append(f"  failed: {', '.join(found.failed[:10])}")
    said += [f"  trouble: {what}: {why}" for what, why in found.troubles.items()]
    return said


def values(found: Summary) -> dict[str, Any]:
    """Return a summary as JSON's builtins."""
    plain: dict[str, Any] = msgspec.to_builtins(found)
    return plain


def _duration(seconds: float) -> str:
    whole = round(seconds)
    hours, minutes = whole // 3600, whole % 3600 // 60
    if hours:
        return f"{hours} h {minutes:02} min"
    return f"{minutes} min {whole % 60:02} s" if minutes else f"{whole} s"
