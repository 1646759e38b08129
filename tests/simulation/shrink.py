"""A smaller scenario that breaks the same invariant: things are left out as long as it still does."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from tests.simulation.scenario import Act, HostClock, Network, Scenario
from tests.simulation.system import play
from tests.simulation.world import InvariantError

MOST_TRIES = 600


def shrunk(scenario: Scenario, invariant: str) -> tuple[Scenario, int]:
    """Return a scenario from which nothing more can be left out, and how many were tried.

    Args:
        scenario: one that fails.
        invariant: what it breaks.
    """
    tries = 0
    smaller = True
    while smaller:
        smaller = False
        for candidate in _smaller(scenario):
            if tries >= MOST_TRIES:
                return scenario, tries
            tries += 1
            if _breaks(candidate, invariant):
                scenario, smaller = candidate, True
                break
    return scenario, tries


def _breaks(scenario: Scenario, invariant: str) -> bool:
    try:
        play(scenario)
    except InvariantError as violation:
        return violation.invariant == invariant
    return False


def _smaller(scenario: Scenario) -> Iterator[Scenario]:
    """Yield scenarios with one thing less, the largest things first."""
    change = msgspec.structs.replace
    for plan in reversed(scenario.tasks):
        if len(scenario.tasks) > 1:
            rest = tuple(
                change(other, parents=tuple(name for name in other.parents if name != plan.name))
                for other in scenario.tasks
                if other is not plan
            )
            yield change(
                scenario,
                tasks=rest,
                crashes=tuple(crash for crash in scenario.crashes if crash.who != plan.name),
                nodes=tuple(fault for fault in scenario.nodes if fault.task != plan.name),
                words=tuple(word for word in scenario.words if word.task != plan.name),
                raises=tuple(item for item in scenario.raises if item.task != plan.name),
                predictions=tuple(item for item in scenario.predictions if item.task != plan.name),
            )
    for field in ("crashes", "nodes", "outages", "words", "raises", "predictions"):
        values = getattr(scenario, field)
        for index in range(len(values)):
            yield change(scenario, **{field: values[:index] + values[index + 1 :]})
    if scenario.clocks:
        yield change(scenario, clocks=())
        for number, clock in enumerate(scenario.clocks):
            if clock != HostClock():
                clocks = (*scenario.clocks[:number], HostClock(), *scenario.clocks[number + 1 :])
                yield change(scenario, clocks=clocks)
    if scenario.network != Network():
        yield change(scenario, network=Network())
    for field in ("unanswered", "deaf", "busy_manager", "failing_steps", "stuck", "shedding", "restless"):
        if getattr(scenario, field):
            yield change(scenario, **{field: 0.0})
    used = {act.word for plan in scenario.tasks for act in plan.acts}
    for rule in scenario.rules:
        needed = rule["name"] in used or any(
            rule["name"] == other["escalate_to"] or (other["counts"] and rule["name"] == other["counts"][0])
            for other in scenario.rules
        )
        if not needed:
            yield change(scenario, rules=tuple(other for other in scenario.rules if other is not rule))
    for number, plan in enumerate(scenario.tasks):
        candidates = [
            change(plan, acts=plan.acts[:at] + plan.acts[at + 1 :]) for at in range(len(plan.acts) - 1)
        ]
        if plan.parents:
            candidates.append(change(plan, parents=()))
        if plan.resubmitted:
            candidates.append(change(plan, resubmitted=False))
        if plan.acts[-1] != Act():
            candidates.append(change(plan, acts=(*plan.acts[:-1], Act())))
        for candidate in candidates:
            yield change(scenario, tasks=(*scenario.tasks[:number], candidate, *scenario.tasks[number + 1 :]))


def told(scenario: Scenario) -> str:
    """Return a scenario for people."""
    lines = [f"  {task}" for task in scenario.tasks] + [f"  rule {rule}" for rule in scenario.rules]
    for field in ("crashes", "nodes", "outages", "words", "raises", "predictions"):
        lines += [f"  {item}" for item in getattr(scenario, field)]
    rest = {
        name: getattr(scenario, name)
        for name in (
            "network",
            "unanswered",
            "deaf",
            "busy_manager",
            "failing_steps",
            "stuck",
            "shedding",
            "lease",
            "clocks",
        )
        if getattr(scenario, name)
    }
    return "\n".join((*lines, f"  {rest}", ""))
