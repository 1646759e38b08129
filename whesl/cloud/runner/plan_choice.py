"""Chooses a run's plan for a workflow, a deadline and a budget; a trial may shorten the schedule's hours."""

from __future__ import annotations

import math

import msgspec

from whesl.cloud.core import plan_menu, scaler
from whesl.cloud.core.plan_records import HOUR, Plan, Platform
from whesl.cloud.core.scaler_events import ScalerState
from whesl.cloud.core.stage_speed import LONGEST, whole
from whesl.model.errors import UsageError


class Chosen(msgspec.Struct, frozen=True, kw_only=True):
    """The choice: the plan, the scaler's first state, and the platforms with their prices."""

    case: plan_menu.Case
    plan: Plan
    initial: ScalerState
    platforms: tuple[Platform, ...]


def choose(
    case: plan_menu.Case,
    deadline: float,
    *,
    probability: float = 0.9,
    budget: float | None = None,
    hour: float = HOUR,
    courses: int = plan_menu.COURSES,
    longest: int = LONGEST,
) -> Chosen:
    """Return the cheapest plan that meets a deadline with a probability, ready to run.

    Args:
        case: the workflow, prices, profile and forecast.
        deadline: seconds since the epoch.
        probability: the required probability of meeting the deadline.
        budget: largest cost of the plan; None for no limit.
        hour: seconds of an hour of the schedule; prices apply to such an hour.
        courses: number of simulated courses.
        longest: hours of the longest request for a node.

    Raises:
        UsageError: the deadline cannot be met at all, or no plan is within the budget.
    """
    plan_menu.check(case, (deadline,))  # checked in real seconds, before run times are scaled to full hours
    times = HOUR / hour
    slow = slowed(case, hour)
    # Tasks that outlast the longest request for a node are not planned on the cluster.
    slow = msgspec.structs.replace(slow, paces=whole(slow.paces, longest))
    case = msgspec.structs.replace(
        case,
        paces=tuple(
            msgspec.structs.replace(pace, hpc=pace.hpc if other.hpc else None, longest=longest)
            for pace, other in zip(case.paces, slow.paces, strict=True)
        ),
    )
    (offer,) = plan_menu.menu(
        slow, [case.start + (deadline - case.start) * times], probability, courses=courses
    )
    found = offer.plan
    if budget is not None and found.expected_cost > budget:
        enough = math.ceil(100 * found.expected_cost) / 100
        raise UsageError(
            f"the plan costs {found.expected_cost:.2f} {case.prices.currency}, the budget is {budget:.2f}",
            hint=f"a budget of {enough:.2f}, a later deadline, or a lower --probability",
        )
    schedule = found.schedule
    quick = msgspec.structs.replace(
        found,
        schedule=msgspec.structs.replace(
            schedule,
            deadline=schedule.start + (schedule.deadline - schedule.start) / times,
            windows=tuple(
                msgspec.structs.replace(one, start=one.start / times, end=one.end / times)
                for one in schedule.windows
            ),
        ),
        settings=msgspec.structs.replace(found.settings, long=hour, short=hour / 12),
    )
    platforms = tuple(
        msgspec.structs.replace(
            one, price=one.price * times, spot=one.spot * times if one.spot is not None else None
        )
        for one in case.prices.platforms
    )
    return Chosen(case=case, plan=quick, initial=scaler.begin(quick, case.paces), platforms=platforms)


def slowed(case: plan_menu.Case, hour: float) -> plan_menu.Case:
    """Return a case scaled to hours of 3600 s, for a run whose hours last ``hour`` seconds.

    Args:
        case: the case.
        hour: seconds of an hour of the run.
    """
    times = HOUR / hour
    return msgspec.structs.replace(
        case,
        paces=tuple(
            msgspec.structs.replace(
                pace,
                hpc=pace.hpc * times if pace.hpc is not None else None,
                cloud=pace.cloud * times if pace.cloud is not None else None,
            )
            for pace in case.paces
        ),
    )


def on_cluster_alone(initial: ScalerState) -> ScalerState:
    """Return the scaler's first state for a run without a cloud, with the plan's cloud part left out.

    Raises:
        UsageError: the cluster cannot run a stage.
    """
    without = [table.stage for table in initial.tables if table.hpc is None]
    if without:
        raise UsageError(
            f"no platform for {', '.join(without)}: the cluster cannot run it, and there is no cloud",
            hint="--cloud NAME, or --gpu-nodes where the cluster's nodes have GPUs",
        )
    tables = tuple(
        msgspec.structs.replace(table, cloud=None, platform="", limit=0, instances=())
        for table in initial.tables
    )
    return msgspec.structs.replace(initial, tables=tables)
