"""A job log on a torus, from its inputs to its measures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from whesl.lab.simulators.torus.event_loop import Jobs, Outcome, run
from whesl.lab.simulators.torus.measures import Measures, measures
from whesl.placement.policies.torus.boxes import Torus, torus
from whesl.placement.policies.torus.choice import RULES, TIE_BREAKING
from whesl.placement.policies.torus.scheduling_pass import Settings
from whesl.prediction.failures.failure_history import merged
from whesl.prediction.failures.given_accuracy import confidence, tie_breaking

if TYPE_CHECKING:
    from whesl.prediction.failures.compiled_predictor import Compiled
    from whesl.prediction.failures.failure_history import History


@dataclass(frozen=True, slots=True)
class Study:
    """How a log is run on a torus.

    Attributes:
        policy: one of ``RULES``.
        level: the document's ``a``: confidence of balancing, accuracy of tie-breaking, from 0 to 1.
        migration: whether running jobs may be moved.
        backfill: whether jobs may overtake the head of the queue.
        per_query: tie-breaking draws for each question, instead of once for each failure.
        seed: of tie-breaking's draws.
    """

    policy: str = "balancing"
    level: float = 0.0
    migration: bool = True
    backfill: bool = True
    per_query: bool = False
    seed: int = 0


def shape(x: int = 4, y: int = 4, z: int = 8) -> Torus:
    """Return a torus; BlueGene/L's 4 x 4 x 8 supernodes of 512 nodes by default. Errors as of ``torus``."""
    return torus(x, y, z)


def nothing(nodes: int, begin: float, finish: float) -> History:
    """Return a history without a failure."""
    return merged(nodes, begin, finish, ())


def predictor(study: Study, truth: History) -> Compiled:
    """Return what the policy asks, as arrays.

    Args:
        study: how a log is run.
        truth: the failures that will happen.
    """
    if RULES[study.policy] == TIE_BREAKING and not study.per_query:
        return tie_breaking(truth, study.level, study.seed).compiled()
    return confidence(truth, study.level).compiled()


def simulate(
    geometry: Torus, jobs: Jobs, truth: History, study: Study, *, record: bool = False
) -> tuple[Outcome, Measures]:
    """Run jobs on a torus.

    Args:
        geometry: the torus.
        jobs: in order of arrival.
        truth: its failures, in the jobs' seconds.
        study: how.
        record: whether events are kept, for an audit.
    """
    per_query = study.per_query and RULES[study.policy] == TIE_BREAKING
    settings = Settings(RULES[study.policy], study.backfill, study.seed if per_query else -1)
    outcome = run(
        geometry,
        settings,
        predictor(study, truth),
        study.migration,
        jobs,
        truth.start,
        truth.node.astype(np.int64),
        record,
    )
    return outcome, measures(jobs, outcome, geometry.nodes)
