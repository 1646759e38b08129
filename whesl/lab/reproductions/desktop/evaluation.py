"""Evaluation of filtered failure prediction: long jobs, replicated in time and in space."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from whesl.lab.simulators.desktop.audit import audit
from whesl.lab.simulators.desktop.simulate import DONE, Outcome, Rules, simulate
from whesl.lab.simulators.desktop.synthetic_machines import DAY, HOUR, Jobs, Site, jobs, machines
from whesl.prediction.failures import periodic_and_survival_prediction, survival
from whesl.prediction.failures.compiled_predictor import Compiled
from whesl.prediction.failures.failure_history import History
from whesl.prediction.failures.given_accuracy_predictors import none

TIME, SPACE = "in time", "in space"
LAWS = ("exponential", "weibull")
# The predictor of each policy. ``reliable`` is WHESL's own policy: FFP's predictor, most reliable machines
# first.
POLICIES = {"FFP": "FFP", "NFFP": "NFFP", "Random": "none", "reliable": "FFP"}


@dataclass(frozen=True, slots=True)
class Plan:
    """The size of an evaluation; times in seconds.

    Attributes:
        site: failure model of the machines.
        lengths: mean lengths of the long jobs, in hours.
        seeds: number of generated sites.
        training: time before the first job, to whose failures the predictors are fitted.
        test: time in which jobs arrive.
        tail: time that the run goes on after the last arrival.
        required: the reliability that jobs ask for.
        attempts: largest number of machines of a job under Random.
        seed: random seed of sites and jobs.
    """

    site: Site = Site()  # noqa: RUF009  frozen
    lengths: Sequence[float] = (6.0, 9.0, 12.0, 15.0, 18.0, 21.0)
    seeds: int = 3
    training: float = 30 * DAY
    test: float = 30 * DAY
    tail: float = 6 * DAY
    required: float = 0.9
    attempts: int = 10
    seed: int = 0


class Row(NamedTuple):
    """The measures of one run's long jobs.

    Attributes:
        seed: the site's number.
        replication: kind of replication, "in time" or "in space".
        policy: FFP, NFFP, Random or reliable.
        hours: the mean length of the long jobs.
        success: the share of the long jobs that completed.
        attempts: mean number of machines of a long job.
        used: mean machine-hours of a long job.
        turnaround: mean hours from submission to completion of the completed long jobs.
        ideal: mean run time without failures, in hours.
        waiting: the longest queue, in jobs.
        before: mean length of the queue shortly before the machines' daily restart.
        after: mean length of the queue shortly after the machines' daily restart.
        left: the share of the long jobs that were not over at the end of the run.
    """

    seed: int
    replication: str
    policy: str
    hours: float
    success: float
    attempts: float
    used: float
    turnaround: float
    ideal: float
    waiting: int
    before: float
    after: float
    left: float


class Queue(NamedTuple):
    """The length of the queue at each pass of the broker.

    Attributes:
        policy: FFP or NFFP.
        days: time of the pass in days since the test period began, shape (beats,).
        length: number of waiting jobs, shape (beats,).
    """

    policy: str
    days: NDArray[np.float64]
    length: NDArray[np.int64]


def predictors(history: History, plan: Plan) -> dict[str, Compiled]:
    """Fit FFP and NFFP to the time before the first job; both then observe later failures as these happen.

    Args:
        history: the failures of all machines.
        plan: the evaluation's size, with the length of the training.
    """
    past = history.until(plan.training)
    return {
        "FFP": periodic_and_survival_prediction.fit(past, LAWS, by="node").observe(history).compiled(),
        "NFFP": survival.fit(past, LAWS, by="node").observe(history).compiled(),
        "none": none(history.nodes).compiled(),
    }


def one_site(number: int, seed: np.random.SeedSequence, plan: Plan) -> Iterator[tuple[Row, Queue | None]]:
    """Run all job lengths, policies and kinds of replication on one site.

    Args:
        number: the site's number.
        seed: random seed of the site's machines and jobs.
        plan: the evaluation's size.

    Yields:
        The row of each run, with the queue for FFP and NFFP in time with the longest jobs, else None.
    """
    of_machines, of_jobs = seed.spawn(2)
    end = plan.training + plan.test + plan.tail
    history = machines(np.random.default_rng(of_machines), plan.site, end)
    known = predictors(history, plan)
    for hours in plan.lengths:
        work = jobs(np.random.default_rng(of_jobs), plan.training, plan.test, hours)
        for replication in (TIME, SPACE):
            for policy, predictor in POLICIES.items():
                if policy == "Random" and replication == SPACE:
                    continue
                limit = plan.attempts if policy == "Random" else 0
                rules = Rules(plan.required, replication == SPACE, limit, number, policy == "reliable")
                compiled = known[predictor]
                outcome = simulate(work, history, compiled, rules, end)
                audit(work, history, outcome, space=rules.space)
                queue = None
                if hours == max(plan.lengths) and replication == TIME and policy in ("FFP", "NFFP"):
                    queue = Queue(policy, (outcome.beat - plan.training) / DAY, outcome.queue)
                yield _row(number, replication, policy, hours, work, outcome, plan), queue


def _row(
    seed: int, replication: str, policy: str, hours: float, work: Jobs, outcome: Outcome, plan: Plan
) -> Row:
    done = work.long & (outcome.status == DONE)
    during = outcome.beat < plan.training + plan.test
    before, after = around(outcome.beat[during], outcome.queue[during], plan.site.restart_at[0])
    return Row(
        seed,
        replication,
        policy,
        hours,
        float(np.mean(outcome.status[work.long] == DONE)),
        float(outcome.attempts[work.long].mean()),
        float(outcome.used[work.long].mean() / HOUR),
        float((outcome.finish - work.submit)[done].mean() / HOUR),
        float(work.duration[work.long].mean() / HOUR),
        int(outcome.queue.max()),
        before,
        after,
        float(np.mean(np.isnan(outcome.finish[work.long]))),
    )


def around(beat: NDArray[np.float64], length: NDArray[np.int64], at: float) -> tuple[float, float]:
    """Return the mean length of the queue shortly before a time of the day, and shortly after it.

    Args:
        beat: times of the broker's passes, in seconds.
        length: length of the queue at each pass.
        at: the time of the day in seconds after midnight; the means cover 30 minutes to 2 hours before it,
            and 1 to 2.5 hours after it.
    """
    later = (beat - at) % DAY
    before = length[(later >= DAY - 2 * HOUR) & (later < DAY - 0.5 * HOUR)]
    after = length[(later >= HOUR) & (later < 2.5 * HOUR)]
    return float(before.mean()), float(after.mean())
