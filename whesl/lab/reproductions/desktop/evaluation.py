"""The evaluation of filtered failure prediction: long jobs, replicated in time and in space."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from whesl.lab.simulators.desktop.audit import audit
from whesl.lab.simulators.desktop.simulate import DONE, Rules, simulate
from whesl.lab.simulators.desktop.synthetic_machines import DAY, HOUR, Site, jobs, machines
from whesl.prediction.failures import periodic_and_survival_prediction, survival
from whesl.prediction.failures.given_accuracy import none

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from whesl.lab.simulators.desktop.simulate import Outcome
    from whesl.lab.simulators.desktop.synthetic_machines import Jobs
    from whesl.prediction.failures.compiled_predictor import Compiled
    from whesl.prediction.failures.failure_history import History

TIME, SPACE = "in time", "in space"
LAWS = ("exponential", "weibull")
# Policy: its predictor. Ours takes FFP's, and the most reliable machines first.
POLICIES = {"FFP": "FFP", "NFFP": "NFFP", "Random": "none", "reliable": "FFP"}


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is run; times in seconds.

    Attributes:
        site: how machines fail.
        lengths: mean lengths of the long jobs, in hours.
        seeds: how many sites are generated.
        training: how long predictors see failures before the first job.
        test: for how long jobs come.
        tail: how long the run goes on after that.
        required: the reliability that jobs ask for.
        attempts: how many machines a job has at most under Random.
        seed: of all that is drawn.
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
    """One run; figures are of its long jobs.

    Attributes:
        seed: the site's number.
        replication: in time or in space.
        policy: FFP, NFFP, Random or reliable.
        hours: the mean length of the long jobs.
        success: the share that completed.
        attempts: machines that each had, the mean.
        used: machine-hours that each used, the mean.
        turnaround: hours from submission to completion of those that completed, the mean.
        ideal: the same without any failure.
        waiting: the longest queue.
        before: the mean queue shortly before the machines restart.
        after: and shortly after.
        left: the share that was not over at the end.
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
    """How many jobs waited, pass by pass.

    Attributes:
        policy: FFP or NFFP.
        days: since the first job, shape (beats,).
        length: shape (beats,).
    """

    policy: str
    days: NDArray[np.float64]
    length: NDArray[np.int64]


def predictors(history: History, plan: Plan) -> dict[str, Compiled]:
    """Fit FFP and NFFP to the time before the first job; both then go on to observe, never ahead of time.

    Args:
        history: of all machines.
        plan: how long they are trained.
    """
    past = history.until(plan.training)
    return {
        "FFP": periodic_and_survival_prediction.fit(past, LAWS, by="node").observe(history).compiled(),
        "NFFP": survival.fit(past, LAWS, by="node").observe(history).compiled(),
        "none": none(history.nodes).compiled(),
    }


def one_site(number: int, seed: np.random.SeedSequence, plan: Plan) -> Iterator[tuple[Row, Queue | None]]:
    """Run all lengths, policies and ways of replication on one site; queues of the longest jobs come along.

    Args:
        number: of the site.
        seed: of its machines and jobs.
        plan: how much.
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
    """Return a queue's mean length shortly before and after a time of the day.

    Args:
        beat: when it was looked at, in seconds.
        length: how long it was.
        at: in seconds after midnight; 30 minutes to 2 hours before it, and 1 to 2.5 hours after it
            are taken.
    """
    later = (beat - at) % DAY
    before = length[(later >= DAY - 2 * HOUR) & (later < DAY - 0.5 * HOUR)]
    after = length[(later >= HOUR) & (later < 2.5 * HOUR)]
    return float(before.mean()), float(after.mean())
