"""Simulation of a workload on a machine under a policy, with its measures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from whesl.lab.native import cluster_event_loop
from whesl.lab.simulators.cluster import measures, simulation_records
from whesl.lab.simulators.cluster.measures import Outcome
from whesl.lab.simulators.cluster.simulation_records import Attempts, Workload
from whesl.model.errors import UsageError
from whesl.placement.policies.port import Policy
from whesl.prediction.failures.failure_history import History
from whesl.prediction.failures.port import Predictor

POLICIES = cluster_event_loop.POLICIES


class Simulation(NamedTuple):
    """The result of one simulation.

    Attributes:
        policy: the policy's name.
        nodes: number of nodes of the machine.
        work: the jobs.
        attempts: all attempts at the jobs.
        outcome: the outcome of each job.
        measures: the result of ``whesl.lab.simulators.cluster.measures.measures``.
        promised: each job's first reservation in seconds, shape (jobs,); empty except for ``conservative``.
    """

    policy: str
    nodes: int
    work: Workload
    attempts: Attempts
    outcome: Outcome
    measures: Mapping[str, float | int]
    promised: NDArray[np.float64]


def simulate(
    work: Workload,
    nodes: int,
    policy: str = "easy",
    *,
    history: History | None = None,
    predictor: Predictor | None = None,
) -> Simulation:
    """Simulate a workload.

    Args:
        work: the jobs.
        nodes: number of nodes of the machine.
        policy: one of ``POLICIES``.
        history: failures of the nodes, on the clock of the workload; None for none.
        predictor: the predictor that ``reliable`` asks about nodes; None for other policies.

    Raises:
        UsageError: there is no such policy, ``reliable`` lacks a predictor, or a job is larger than the
            machine.
        WheslError: the failures belong to other nodes.
    """
    if policy not in POLICIES:
        raise UsageError(f"no policy {policy!r}", hint=f"there are {', '.join(POLICIES)}")
    if policy == "reliable" and predictor is None:
        raise UsageError(
            "the policy reliable asks a predictor, and there is none", hint="--predictor names one"
        )
    if len(work.size) and int(work.size.max()) > nodes:
        raise UsageError(
            f"job {int(work.job[work.size.argmax()])} asks for {int(work.size.max())} nodes of a machine of "
            f"{nodes}"
        )
    faults = simulation_records.faults(history, nodes)
    if predictor is not None and len(predictor.compiled().event_offsets) <= nodes:
        raise UsageError(
            f"the predictor {predictor.name} knows {len(predictor.compiled().event_offsets) - 1} nodes, and "
            f"the machine has {nodes}"
        )
    asked = predictor.compiled() if predictor is not None and policy == "reliable" else None
    if (found := cluster_event_loop.simulate(policy, nodes, work[1:], faults, asked)) is not None:
        attempts, promised = Attempts(*found[0]), found[1]
    else:
        attempts, promised = _in_python(work, nodes, policy, history, predictor)
    result = measures.outcome(work, attempts)
    return Simulation(
        policy, nodes, work, attempts, result, measures.measures(work, attempts, result, nodes), promised
    )


def _in_python(
    work: Workload, nodes: int, policy: str, history: History | None, predictor: Predictor | None
) -> tuple[Attempts, NDArray[np.float64]]:
    """Simulate without a C compiler; arguments: see ``simulate``."""
    # Imported late, since the policies load numba, which takes longer than most simulations in C.
    from whesl.lab.simulators.cluster import python_conservative_backfilling, python_event_loop
    from whesl.placement.policies.easy import Easy
    from whesl.placement.policies.fcfs import Fcfs
    from whesl.placement.policies.reliable import Reliable

    if policy == "conservative":
        return python_conservative_backfilling.simulate(work, nodes, history=history)
    chosen: dict[str, Policy] = {"fcfs": Fcfs(), "easy": Easy(), "reliable": Reliable()}
    attempts = python_event_loop.simulate(work, nodes, chosen[policy], history=history, predictor=predictor)
    return attempts, np.empty(0)
