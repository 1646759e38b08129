"""Courses and the menu: what is drawn, what follows from it, and which plan is offered."""

from __future__ import annotations

import math

import msgspec
import numpy as np
import pytest

from tests.cloud.samples import CLUSTER, PRICES, complete, oai, stage, workflow
from whesl.cloud.core import plan_menu, plan_simulation, stage_speed
from whesl.cloud.core import uncertainty as uncertainty
from whesl.cloud.core.plan_records import (
    HOUR,
    Dependency,
    FreeForecast,
    Measurement,
    Profile,
    Settings,
    Stage,
    Workflow,
)
from whesl.cloud.page import cells
from whesl.model.errors import UsageError

FREE = FreeForecast(
    made=0.0, start=0.0, capacity=90, levels=(0.1, 0.5, 0.9), nodes=((10.0, 30.0, 60.0), (5.0, 20.0, 50.0))
)


def case(flow: Workflow, forecast: FreeForecast = FREE, profile: Profile | None = None) -> plan_menu.Case:
    known = profile or complete(flow)
    return plan_menu.Case(
        workflow=flow,
        profile=known,
        prices=PRICES,
        forecast=forecast,
        paces=stage_speed.paces(flow, known, PRICES, CLUSTER),
        start=0.0,
    )


def test_ranks_are_those_of_the_normal_distribution() -> None:
    value = np.array([-3.0, -1.0, 0.0, 0.5, 2.0])
    exact = [0.5 * (1 + math.erf(one / math.sqrt(2))) for one in value]
    assert uncertainty._normal_rank(value) == pytest.approx(exact, abs=1e-7)


def test_free_nodes_follow_the_quantiles_and_stay_within_the_cluster() -> None:
    assert uncertainty.at_quantile(FREE, 0.5, 3) == (30, 20, 20)
    assert uncertainty.at_quantile(FREE, 0.9, 1) == (60,)
    ranks = np.linspace(0, 1, 101)[:, None]
    found = uncertainty.free_nodes(FREE, ranks)[:, 0]
    assert (np.diff(found) >= 0).all()
    assert found[0] == 0
    assert found[-1] == 90


def test_hours_that_follow_each_other_are_alike_and_seeds_repeat() -> None:
    paces = case(oai(100)).paces
    drawn = uncertainty.draws(paces, complete(oai(100)), 12, 2000, 3)
    assert np.corrcoef(drawn.ranks[:, 0], drawn.ranks[:, 1])[0, 1] > 0.6
    again = uncertainty.draws(paces, complete(oai(100)), 12, 2000, 3)
    pairs = zip(map(np.asarray, drawn), map(np.asarray, again), strict=True)
    assert all(np.array_equal(one, other) for one, other in pairs)


def test_run_times_that_were_measured_are_less_uncertain() -> None:
    flow = workflow(stage("a", 10), stage("b", 10, [], 30), stage("c", 10))
    entry = Measurement(stage="c", platform="cluster", seconds=60, deviation=6, count=9)
    known = complete(flow)
    known = msgspec.structs.replace(known, measurements=(*known.measurements, entry))
    drawn = uncertainty.draws(case(flow).paces, known, 1, 4000, 0)
    spread = np.log(drawn.factors).std(axis=0)
    assert spread[:, 0] == pytest.approx([0.30, 0.10, math.hypot(0.02, 0.1 / 3)], rel=0.1)
    logs = np.log(drawn.factors)
    assert np.array_equal(logs[:, :2, 0], logs[:, :2, 1]), "what follows from one time errs with it"
    assert np.corrcoef(logs[:, 2, 0], logs[:, 2, 1])[0, 1] == pytest.approx(1)
    assert logs[:, 2, 1].std() == pytest.approx(math.hypot(0.02, 0.1 / 3, uncertainty.ELSEWHERE), rel=0.1)
    other = Measurement(stage="c", platform="c5a.4xlarge", seconds=60, deviation=6, count=9)
    known = msgspec.structs.replace(known, measurements=(other, *known.measurements))
    drawn = uncertainty.draws(case(flow, profile=known).paces, known, 1, 4000, 0)
    both = np.log(drawn.factors[:, 2])
    assert abs(np.corrcoef(both[:, 0], both[:, 1])[0, 1]) < 0.1, "two measurements err each for itself"


def test_an_earlier_end_is_likelier_to_meet_the_deadline() -> None:
    one = case(oai(3000))
    drawn = uncertainty.draws(one.paces, one.profile, 8, 100, 0)
    found = [
        plan_menu.judged(one, 8 * HOUR, 0.5, reserve, Settings(backup=0.0), drawn).probability or 0
        for reserve in (0.0, 300.0, 1200.0, 3600.0)
    ]
    assert found == sorted(found)
    assert found[0] < 0.5
    assert found[-1] > 0.9


def test_each_deadline_has_the_cheapest_plan_that_is_likely_enough() -> None:
    one = case(oai(3000))
    deadlines = [4 * HOUR, 12 * HOUR]
    offers = plan_menu.menu(one, deadlines, 0.8, courses=60)
    for offer, deadline in zip(offers, deadlines, strict=True):
        assert offer.reached
        assert offer.plan.schedule.deadline == deadline
        assert 0.8 <= (offer.plan.probability or 0) <= 0.97
        assert offer.cloud_only is not None
        assert offer.plan.expected_cost < offer.cloud_only
    assert offers[1].plan.expected_cost < offers[0].plan.expected_cost
    drawn = uncertainty.draws(one.paces, one.profile, 12, 60, 0)
    for quantile in plan_menu.QUANTILES:
        for backup in plan_menu.BACKUPS:
            other = plan_menu.judged(one, 12 * HOUR, quantile, HOUR, Settings(backup=backup), drawn)
            if (other.probability or 0) >= 0.8:
                assert other.expected_cost >= 0.98 * offers[1].plan.expected_cost


def test_instances_that_are_taken_away_make_a_plan_later_and_nothing_else_does() -> None:
    one = case(oai(3000), plan_menu.constant([0.0], 0.0))
    drawn = uncertainty.draws(one.paces, one.profile, 8, 100, 0)
    found = []
    for revoked in (0.0, 0.05, 0.5):
        paces = tuple(
            msgspec.structs.replace(
                each, platform=msgspec.structs.replace(each.platform, on_spot=True, revoked=revoked)
            )
            for each in one.paces
            if each.platform
        )
        spot = msgspec.structs.replace(one, paces=paces)
        plan = plan_menu.judged(spot, 8 * HOUR, 0.5, 350.0, Settings(backup=0.0), drawn)
        assert plan.spot
        found.append(plan.probability or 0)
    plain = plan_menu.judged(one, 8 * HOUR, 0.5, 350.0, Settings(backup=0.0), drawn)
    assert not plain.spot
    assert found[0] == plain.probability
    assert found[0] >= found[1] > found[2]


def test_how_many_instances_are_taken_away_follows_poisson() -> None:
    ranks = (np.arange(2000) + 0.5) / 2000
    for mean in (0.01, 0.7, 9.0):
        found = np.array([plan_simulation._poisson(mean, float(rank)) for rank in ranks])
        assert found.mean() == pytest.approx(mean, rel=0.05)
        assert found.var() == pytest.approx(mean, rel=0.1)
    assert plan_simulation._poisson(400.0, 0.9) == 400


def test_without_a_cluster_all_runs_in_the_cloud_at_its_price() -> None:
    flow = oai(500)
    none = plan_menu.constant([0.0], 0.0)
    (offer,) = plan_menu.menu(case(flow, none), [6 * HOUR], courses=40)
    assert offer.plan.cluster_hours == 0
    assert offer.cloud_only is not None
    assert offer.plan.expected_cost == pytest.approx(offer.cloud_only, rel=0.25)


def test_a_deadline_that_no_plan_is_likely_to_meet_has_the_likeliest() -> None:
    one = case(oai(3000))
    (offer,) = plan_menu.menu(one, [300.0], 0.9, courses=40)
    assert not offer.reached
    assert (offer.plan.probability or 0) < 0.9


def test_all_deadlines_that_nothing_can_meet_are_named() -> None:
    with pytest.raises(UsageError) as caught:
        plan_menu.menu(case(oai(10)), [-60.0, 60.0, HOUR], courses=20)
    assert "in the past, by 60 s" in caught.value.message
    assert "a deadline of 60 s is shorter than the critical path" in caught.value.message


def test_more_time_is_never_much_dearer() -> None:
    """A plan for a day had cost three times one for three hours: plans that end early were not looked at."""
    one = case(oai(400))
    soon, late = plan_menu.menu(one, [3 * HOUR, 24 * HOUR], 0.8, courses=40)
    assert soon.reached and late.reached
    assert late.plan.expected_cost < 1.1 * soon.plan.expected_cost
    (alone,) = plan_menu.menu(one, [24 * HOUR], 0.8, courses=40)
    assert alone.plan.expected_cost < 1.1 * soon.plan.expected_cost


@pytest.mark.costly
@pytest.mark.parametrize("barrier", [False, True])
@pytest.mark.parametrize("hours", [6, 24])
def test_the_cloud_alone_costs_what_a_plan_costs_that_no_node_is_free_for(hours: int, barrier: bool) -> None:
    # 288.85 for what cost 111.58: outputs that stay in the cloud were counted as leaving it, hour by hour.
    edge = Dependency(parent="a", barrier=barrier)
    stages = (
        Stage(name="a", tasks=300, seconds=600.0, input_bytes=2e9, output_bytes=5e9),
        Stage(name="b", tasks=300, seconds=300.0, input_bytes=5e9, output_bytes=1e6, parents=(edge,)),
    )
    flow = Workflow(name="w", stages=stages)
    none = plan_menu.constant([0.0], 0.0)
    (offer,) = plan_menu.menu(case(flow, none), [hours * HOUR], courses=50)
    assert offer.cloud_only == pytest.approx(offer.plan.expected_cost, rel=0.05)
    # Where there is no cluster at all, nothing is saved.
    known = complete(flow)
    alone = msgspec.structs.replace(case(flow, none), paces=stage_speed.paces(flow, known, PRICES, None))
    (offer,) = plan_menu.menu(alone, [hours * HOUR], courses=50)
    assert offer.cloud_only is None and cells(alone, offer)[6:8] == ("-", "-")
