"""The menu: for each deadline the cheapest plan that meets it with a given probability.

Plans differ in the quantile of free nodes that they assume, in the share of the cluster's nodes that the
cloud backs up, and in their reserve before the deadline. All plans are simulated over the same drawn courses.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from whesl.cloud.core import cost, scaler, schedule
from whesl.cloud.core import uncertainty as uncertainty
from whesl.cloud.core.cost import data_cost
from whesl.cloud.core.plan_records import (
    CLUSTER,
    HOUR,
    FreeForecast,
    Plan,
    PriceList,
    Profile,
    Schedule,
    Settings,
    Workflow,
)
from whesl.cloud.core.plan_simulation import follow
from whesl.cloud.core.stage_pipeline import hours as hours_text
from whesl.cloud.core.stage_speed import Pace, critical_path
from whesl.cloud.core.uncertainty import Draws
from whesl.model.errors import UsageError

QUANTILES = (0.1, 0.25, 0.5, 0.75)
BACKUPS = (0.0, 0.5, 1.0)
# Reserves between a plan's end and the deadline, as shares of the time to the deadline.
RESERVES = (0.0, 0.005, 0.01, 0.015, 0.02, 0.03, 0.04, 0.06, 0.08, 0.11, 0.15, 0.2, 0.28, 0.38, 0.5)
COURSES = 200
_REFINED = 5
MOST = 1_000_000  # upper limit of the number of free nodes
LONGEST = 31 * 24 * HOUR  # seconds until a deadline
EARLY = (0.5, 0.75, 0.875)  # larger reserves that are tried as well, as shares of the time to the deadline


class Offer(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the menu: a plan for one deadline.

    Attributes:
        plan: the offered plan.
        reached: whether the plan has the requested probability.
        cloud_only: the cost of the same deadline in the cloud alone; None where a stage needs the cluster or
            no stage can use it.
        reserve: seconds between the plan's end and the deadline.
    """

    plan: Plan
    reached: bool
    cloud_only: float | None
    reserve: float


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """The inputs of planning that do not depend on the deadline.

    Attributes:
        workflow, profile, prices, forecast: the inputs' records; the profile has an entry for each stage.
        paces: the stages' speeds.
        start: seconds since the epoch.
        cluster: the name of the cluster's platform.
        notes: assumptions, as text.
    """

    workflow: Workflow
    profile: Profile
    prices: PriceList
    forecast: FreeForecast
    paces: tuple[Pace, ...]
    start: float
    cluster: str = CLUSTER
    notes: tuple[str, ...] = ()


def menu(
    case: Case,
    deadlines: Sequence[float],
    probability: float = 0.9,
    *,
    courses: int = COURSES,
    seed: int = 0,
) -> tuple[Offer, ...]:
    """Return an offer for each deadline.

    Args:
        case: the workflow, prices, profile and forecast.
        deadlines: seconds since the epoch.
        probability: the required probability of meeting the deadline.
        courses: number of simulated courses of each plan.
        seed: the seed of all random draws.

    Raises:
        UsageError: a deadline is in the past or shorter than the critical path; all of them are named.
    """
    check(case, deadlines)
    hours = math.ceil((max(deadlines) - case.start) / HOUR)
    drawn = uncertainty.draws(case.paces, case.profile, hours, courses, seed, case.cluster)
    offers: dict[float, Offer] = {}
    for deadline in sorted(deadlines):
        offers[deadline] = cheapest(case, deadline, probability, drawn, offers)
    return tuple(offers[deadline] for deadline in deadlines)


def check(case: Case, deadlines: Sequence[float]) -> None:
    """Refuse deadlines that no plan can meet.

    Args:
        case: the inputs of planning; deadlines count from its start.
        deadlines: seconds since the epoch.

    Raises:
        UsageError: a deadline is outside the planned range or shorter than the critical path; all are named.
    """
    shortest, path = critical_path(case.paces)
    wrong = []
    for deadline in deadlines:
        length = deadline - case.start
        if said := outside(length):
            wrong.append(said)
        elif length < shortest:
            wrong.append(
                f"a deadline of {hours_text(length)} is shorter than the critical path of"
                f" {hours_text(shortest)}: {' -> '.join(path)}"
            )
    if wrong:
        raise UsageError(
            "\n".join(wrong),
            hint=f"deadlines from {hours_text(shortest)} to {hours_text(LONGEST)} from now are accepted",
        )


def outside(length: float) -> str:
    """Return why a deadline lies outside the planned range; '' where it lies within.

    Args:
        length: seconds from now to the deadline.
    """
    if -0.5 <= length <= 0:
        return "a deadline is now"
    if length <= 0:
        return f"a deadline is in the past, by {hours_text(-length)}"
    if length > LONGEST:
        return f"a deadline of {hours_text(length)} is later than plans are made for ({hours_text(LONGEST)})"
    return ""


def judged(
    case: Case, deadline: float, quantile: float, reserve: float, settings: Settings, drawn: Draws
) -> Plan:
    """Return one plan with its probability and costs.

    Args:
        case: the workflow, prices, profile and forecast.
        deadline: seconds since the epoch.
        quantile: the quantile of free nodes that the plan assumes.
        reserve: seconds between the plan's end and the deadline.
        settings: how the plan is carried out.
        drawn: the random draws of the courses.

    Raises:
        UsageError: no schedule ends in time.
    """
    hours = math.ceil((deadline - case.start) / HOUR)
    made = _schedule(case, deadline, quantile, reserve, slots=False)
    estimate = cost.estimate(case.workflow, made, case.prices, case.profile.cost)
    bare = Plan(
        schedule=made,
        cost=estimate,
        expected_cost=0.0,
        probability=None,
        cluster_hours=0.0,
        cloud_hours=0.0,
        settings=settings,
        spot=any(pace.platform.on_spot for pace in case.paces if pace.platform),
    )
    free = uncertainty.free_nodes(case.forecast, drawn.ranks[:, :hours])
    found = follow(scaler.begin(bare, case.paces), case.paces, case.prices, free, drawn)
    met = float(np.count_nonzero(found.finished <= deadline - case.start))
    return msgspec.structs.replace(
        bare,
        cost=msgspec.structs.replace(estimate, backup=float(found.backup.mean())),
        expected_cost=float(found.cost.mean()) + case.profile.cost,
        # The posterior mean of the share of courses that meet the deadline, with a uniform prior.
        probability=(met + 1) / (len(free) + 2),
        cluster_hours=float(found.cluster_hours.mean()),
        cloud_hours=float(found.cloud_hours.mean()),
        notes=case.notes,
    )


def _schedule(case: Case, deadline: float, quantile: float, reserve: float, *, slots: bool) -> Schedule:
    hours = math.ceil((deadline - case.start) / HOUR)
    return schedule.build(
        case.paces,
        case.prices,
        uncertainty.at_quantile(case.forecast, quantile, hours),
        case.start,
        deadline,
        cluster=case.cluster,
        quantile=quantile,
        end=deadline - reserve,
        slots=slots,
    )


def cheapest(
    case: Case,
    deadline: float,
    probability: float,
    drawn: Draws,
    earlier: Mapping[float, Offer] | None = None,
) -> Offer:
    """Return the cheapest plan that meets a deadline with a probability, or the likeliest one.

    Args:
        case: the workflow, prices, profile and forecast.
        deadline: seconds since the epoch.
        probability: the required probability of meeting the deadline.
        drawn: the random draws of the courses.
        earlier: offers for earlier deadlines, which may cost less.

    Raises:
        UsageError: no schedule ends in time.
    """
    length = deadline - case.start
    tries = _Tries(case, deadline, probability, drawn)
    no_cluster = max(max(row) for row in case.forecast.nodes) < 1
    best: tuple[Plan, float] | None = None
    for quantile in QUANTILES[:1] if no_cluster else QUANTILES:
        for backup in BACKUPS[:1] if no_cluster else BACKUPS:
            found = tries.latest(quantile, backup, length)
            if found and (best is None or found[0].expected_cost < best[0].expected_cost):
                best = found
    if best is not None:
        best = tries.refined(*best, length)
        # A later end is not always cheaper: a plan that ends long before the deadline may cost less.
        backup = best[0].settings.backup
        ends = [(quantile, backup, share * length) for quantile in QUANTILES for share in EARLY]
        ends += [
            (offer.plan.schedule.quantile, offer.plan.settings.backup, deadline - before + offer.reserve)
            for before, offer in (earlier or {}).items()
            if offer.reached
        ]
        for end in ends:
            again = tries.ending(*end)
            if again and again[0].expected_cost < best[0].expected_cost:
                best = again
    if tries.likeliest is None:
        raise tries.refused or UsageError("no plan can be made")
    plan, reserve = best or tries.likeliest
    made = _schedule(case, deadline, plan.schedule.quantile, reserve, slots=True)
    plan = msgspec.structs.replace(plan, schedule=made)
    alone = cloud_only(case, deadline, reserve)
    return Offer(plan=plan, reached=best is not None, cloud_only=alone, reserve=reserve)


class _Tries:
    """The plans that were tried for one deadline."""

    def __init__(self, case: Case, deadline: float, probability: float, drawn: Draws) -> None:
        self._case, self._deadline, self._asked, self._drawn = case, deadline, probability, drawn
        self.likeliest: tuple[Plan, float] | None = None
        self.refused: UsageError | None = None
        self._place = 4

    def _plan(self, quantile: float, backup: float, reserve: float) -> Plan | None:
        """Return the plan with these parameters; None where the reserve leaves too little time."""
        settings = Settings(backup=backup)
        try:
            plan = judged(self._case, self._deadline, quantile, reserve, settings, self._drawn)
        except UsageError as error:
            self.refused = error
            return None
        if self.likeliest is None or _rank(plan) > _rank(self.likeliest[0]):
            self.likeliest = plan, reserve
        return plan

    def _enough(self, plan: Plan) -> bool:
        return (plan.probability or 0.0) >= self._asked

    def latest(self, quantile: float, backup: float, length: float) -> tuple[Plan, float] | None:
        """Return the plan with the smallest reserve of ``RESERVES`` that reaches the probability, or None.

        The search begins at the reserve that the last search found, since plans need similar reserves.
        """
        found = None
        number, step = self._place, 0
        while 0 <= number < len(RESERVES):
            reserve = RESERVES[number] * length
            plan = self._plan(quantile, backup, reserve)
            if plan is None or self._enough(plan):
                found = (plan, reserve) if plan is not None else found
                if step > 0:
                    break
                step = -1
            else:
                if step < 0:
                    break
                step = 1
            number += step
        self._place = min(max(0, number), len(RESERVES) - 1)
        return found

    def ending(self, quantile: float, backup: float, reserve: float) -> tuple[Plan, float] | None:
        """Return the plan with a given reserve; None where it does not reach the probability."""
        plan = self._plan(quantile, backup, reserve)
        return (plan, reserve) if plan is not None and self._enough(plan) else None

    def refined(self, plan: Plan, reserve: float, length: float) -> tuple[Plan, float]:
        """Return a plan whose reserve is reduced to what the required probability needs."""
        low = max((share * length for share in RESERVES if share * length < reserve), default=reserve)
        high = reserve
        for _ in range(_REFINED):
            middle = (low + high) / 2
            tried = self._plan(plan.schedule.quantile, plan.settings.backup, middle)
            if tried is not None and self._enough(tried):
                plan, high = tried, middle
            else:
                low = middle
        return plan, high


def _rank(plan: Plan) -> tuple[float, float]:
    return plan.probability or 0.0, -plan.expected_cost


def cloud_only(case: Case, deadline: float, reserve: float) -> float | None:
    """Return a deadline's cost in the cloud alone; None where a stage needs the cluster or none can use it.

    The cost counts instances by the second, files, and the transfer of results out of the cloud, as in a
    simulated course.

    Args:
        case: the workflow and prices.
        deadline: seconds since the epoch.
        reserve: seconds between the plan's end and the deadline.
    """
    if any(pace.cloud is None for pace in case.paces) or all(pace.hpc is None for pace in case.paces):
        return None
    alone = tuple(msgspec.structs.replace(pace, hpc=None) for pace in case.paces)
    try:
        schedule.build(alone, case.prices, [0.0], case.start, deadline, end=deadline - reserve)
    except UsageError:
        return None
    everything = np.array([[float(pace.stage.tasks) for pace in alone]])
    return worked(alone) + float(data_cost(alone, case.prices, everything)[0]) + case.profile.cost


def worked(paces: tuple[Pace, ...]) -> float:
    """Return the cost of all tasks in the cloud, billed by the second without idle time."""
    return sum(pace.task_price * pace.stage.tasks for pace in paces)


def constant(nodes: Sequence[float], made: float) -> FreeForecast:
    """Return a forecast of the same free nodes in each hour.

    Args:
        nodes: one number, or the quantiles 10, 50 and 90 %.
        made: time of the forecast, seconds since the epoch.

    Raises:
        UsageError: the numbers are neither one nor three rising ones from 0.
    """
    row = tuple(float(number) for number in nodes)
    row = row * 3 if len(row) == 1 else row
    if len(row) != 3 or not all(0 <= number <= MOST for number in row) or list(row) != sorted(row):
        raise UsageError(
            f"free nodes: {', '.join(f'{number:g}' for number in nodes)}",
            hint="accepted is one number, or three rising ones: the quantiles 10, 50 and 90 %;"
            f" from 0 to {MOST}",
        )
    return FreeForecast(
        made=made,
        start=made,
        capacity=math.ceil(row[-1] + (row[-1] - row[1])),
        levels=(0.1, 0.5, 0.9),
        nodes=(row,) * 24,
        source="stated by the user",
    )
