"""Simulation of a job log on a torus, with its measures."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from whesl.lab.simulators.torus.event_loop import Jobs, Outcome, run
from whesl.lab.simulators.torus.measures import Measures, measures
from whesl.placement.policies.torus.boxes import Torus, torus
from whesl.placement.policies.torus.choice import RULES, TIE_BREAKING
from whesl.placement.policies.torus.scheduling_pass import Settings
from whesl.prediction.failures.compiled_predictor import Compiled
from whesl.prediction.failures.failure_history import History, merged
from whesl.prediction.failures.given_accuracy_predictors import confidence, tie_breaking


@dataclass(frozen=True, slots=True)
class Study:
    """The settings of a simulation on a torus.

    Attributes:
        policy: one of ``RULES``.
        level: the document's ``a``: confidence of balancing, accuracy of tie-breaking, from 0 to 1.
        migration: whether running jobs may be moved.
        backfill: whether jobs may overtake the head of the queue.
        per_query: whether tie-breaking draws for each question, instead of once for each failure.
        seed: random seed of tie-breaking.
    """

    policy: str = "balancing"
    level: float = 0.0
    migration: bool = True
    backfill: bool = True
    per_query: bool = False
    seed: int = 0


def shape(x: int = 4, y: int = 4, z: int = 8) -> Torus:
    """Return a torus; by default BlueGene/L's 4 x 4 x 8 supernodes of 512 nodes.

    Args:
        x: nodes along the first dimension.
        y: nodes along the second dimension.
        z: nodes along the third dimension.
    """
    return torus(x, y, z)


def nothing(nodes: int, begin: float, finish: float) -> History:
    """Return a history without failures.

    Args:
        nodes: number of nodes.
        begin: begin of the history, in seconds.
        finish: end of the history, in seconds.
    """
    return merged(nodes, begin, finish, ())


def predictor(study: Study, truth: History) -> Compiled:
    """Return the predictor that the policy asks, in compiled form.

    Args:
        study: settings of the simulation.
        truth: the failures that will happen.
    """
    if RULES[study.policy] == TIE_BREAKING and not study.per_query:
        return tie_breaking(truth, study.level, study.seed).compiled()
    return confidence(truth, study.level).compiled()


def simulate(
    geometry: Torus, jobs: Jobs, truth: History, study: Study, *, record: bool = False
) -> tuple[Outcome, Measures]:
    """Simulate jobs on a torus, and return the outcome and its measures.

    Args:
        geometry: the torus.
        jobs: the jobs in order of arrival.
        truth: the nodes' failures, on the jobs' clock.
        study: settings of the simulation.
        record: whether events are recorded, for an audit.
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
