"""Repeated runs of applications under checkpoint models, and their mean costs."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from whesl.lab.simulators.checkpoints import event_loop, prediction_lead_times
from whesl.lab.simulators.checkpoints.machine_and_application_files import Application, Failures, Machine
from whesl.lab.simulators.checkpoints.published_values import MODELS
from whesl.model.errors import UsageError, WheslError

HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class Setting:
    """One point of an evaluation.

    Attributes:
        application: the application that runs.
        failures: the distribution of times between failures.
        model: one of ``MODELS``, or ``P2+`` or ``M2+``, whose formula of the interval includes the
            predictor's errors.
        change: relative change of the lead times; 0.5 makes them longer by half.
        whole: whether the machine has the distribution unchanged; otherwise the distribution is scaled by the
            number of nodes.
        recall: share of failures that are predicted; None for the machine's recall.
        factor: data that a migration moves, in checkpoints; None for the machine's factor.
        recorded: times between failures anywhere in the machine of ``failures``, in seconds, in place of its
            distribution; empty for the distribution.
    """

    application: Application
    failures: Failures
    model: str
    change: float = 0.0
    whole: bool = False
    recall: float | None = None
    factor: float | None = None
    recorded: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Times:
    """Durations of an application's checkpoint actions on a machine, in seconds."""

    buffer_write: float
    buffer_read: float
    all_write: float
    one_write: float
    drain: float
    migration: float


def times(machine: Machine, application: Application, factor: float | None = None) -> Times:
    """Return the durations of an application's checkpoint actions.

    Args:
        machine: the machine that the application runs on.
        application: the application.
        factor: data that a migration moves, in checkpoints of a process; None for the machine's factor.
    """
    size = application.node_gb
    together = machine.aggregate(application.nodes, size)
    moved = min((machine.migration.factor if factor is None else factor) * size, machine.system.dram_gb)
    drains = min(machine.parallel_file_system.drain_nodes, application.nodes)
    return Times(
        size / machine.burst_buffer.write_gb_per_s,
        size / machine.burst_buffer.read_gb_per_s,
        application.checkpoint_gb / together,
        size / machine.parallel_file_system.node_gb_per_s,
        application.checkpoint_gb / machine.aggregate(drains, size),
        moved / machine.migration.gb_per_s,
    )


def plan(machine: Machine, setting: Setting) -> tuple[event_loop.Plan, float, float]:
    """Return the plan, the scale of the failures in seconds, and the share of failures that hit the job.

    Args:
        machine: the machine.
        setting: the setting.
    """
    name = setting.model.rstrip("+")
    if name not in MODELS:
        raise UsageError(
            f"{setting.model!r} is no model", hint=f"models are {', '.join(MODELS)}, M2+ and P2+"
        )
    application, failures = setting.application, setting.failures
    took = times(machine, application, setting.factor)
    migrates, prioritizes = name in ("M2", "P2"), name in ("P1", "P2")
    scale = failures.scale_hours * HOUR
    if not setting.whole:
        scale *= failures.nodes / machine.system.nodes
    hit = application.nodes / machine.system.nodes
    rate = hit / (failures.mean_hours * HOUR * scale / (failures.scale_hours * HOUR))
    recall = machine.recall if setting.recall is None else setting.recall
    longer = 1.0 + setting.change
    enough = prediction_lead_times.share_above(machine.leads, took.migration / longer) if migrates else 0.0
    unmet, proactive = 1.0 - enough, 0.0  # equation (2.2) has no recall
    if setting.model.endswith("+"):
        saved = (
            prediction_lead_times.share_above(machine.leads, took.one_write / longer)
            if prioritizes
            else enough
        )
        committed = max(saved - enough, 0.0)
        unmet = 1.0 - recall * (enough + committed)
        proactive = recall * committed / (1.0 - machine.prediction.false_positives)
    cost = machine.migration.runtime_share * took.migration
    return (
        event_loop.Plan(
            application.hours * HOUR,
            took.buffer_write,
            took.drain,
            took.all_write,
            took.one_write,
            took.buffer_read,
            took.migration,
            cost,
            rate,
            max(unmet, 1e-9),
            proactive,
            name == "M1",
            migrates,
            prioritizes,
        ),
        scale,
        hit,
    )


@dataclass(frozen=True, slots=True)
class Summary:
    """Means over a setting's runs, with half-widths of 95 % confidence intervals.

    Attributes:
        runs: number of runs.
        overhead_hours: mean overhead (checkpoints, recomputation and recovery), and its half-width.
        checkpoint_hours: mean time blocked by checkpoints.
        recomputation_hours: mean time of repeated computing.
        recovery_hours: mean time to read checkpoints back.
        failures: mean number of failures of a run, with the failures that migration avoided.
        met: share of all failures that an action met in time (the FT ratio), and its half-width.
        migrated: share of all failures that a migration avoided.
        interval_hours: mean interval between periodic checkpoints.
        each: overhead of every run in hours, shape (runs,); run i of all models has the same failures.
    """

    runs: int
    overhead_hours: tuple[float, float]
    checkpoint_hours: float
    recomputation_hours: float
    recovery_hours: float
    failures: float
    met: tuple[float, float]
    migrated: float
    interval_hours: float
    each: NDArray[np.float64] = field(repr=False, compare=False)


def runs(machine: Machine, setting: Setting, seed: int, count: int) -> NDArray[np.float64]:
    """Run a setting many times; run i of all models of an application has the same failures.

    Args:
        machine: the machine.
        setting: the setting.
        seed: random seed of all runs.
        count: number of runs.

    Returns:
        The outcomes, shape (runs, fields of ``Outcome``).
    """
    numbers, scale, hit = plan(machine, setting)
    recall = machine.recall if setting.recall is None else setting.recall
    if setting.model == "B":
        recall = 0.0
    seconds = np.array(machine.leads.seconds)
    share = np.array(machine.leads.share)
    recorded = np.array(setting.recorded) * (scale / (setting.failures.scale_hours * HOUR))
    found = np.empty((count, len(event_loop.Outcome._fields)))
    place = sum(ord(letter) << (8 * index % 48) for index, letter in enumerate(setting.application.name))
    for index in range(count):
        horizon = 2.0 * numbers.work
        while True:
            rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence((seed, place, index))))
            incidents = event_loop.draw(
                rng,
                horizon,
                setting.failures.shape,
                scale,
                hit,
                recall,
                machine.prediction.false_positives,
                seconds,
                share,
                setting.change,
                recorded,
            )
            outcome = event_loop.run(numbers, incidents)
            if not np.isnan(outcome.makespan):
                break
            horizon *= 2.0
            if horizon > 1000.0 * numbers.work:
                raise WheslError(
                    f"{setting.application.name} under {setting.model} does not end: failures come faster "
                    f"than {numbers.work / HOUR:g} hours of work can be done",
                    hint="a smaller checkpoint, fewer nodes or a more reliable machine",
                )
        found[index] = outcome
    return found


def summarize(found: NDArray[np.float64]) -> Summary:
    """Return the summary of a setting's outcomes, shape (runs, fields of ``Outcome``)."""
    column = {name: found[:, index] for index, name in enumerate(event_loop.Outcome._fields)}
    overhead = (column["checkpoint"] + column["recomputation"] + column["recovery"]) / HOUR
    count = len(found)
    failures = float(column["failures"].sum())
    met = float((column["migrated"] + column["committed"]).sum())
    ratio = met / failures if failures else 0.0
    # Standard error of the ratio of two sums over runs, by linearization.
    residual = column["migrated"] + column["committed"] - ratio * column["failures"]
    spread = float(residual.std()) * np.sqrt(count) / failures if failures else 0.0
    half = 1.96 * float(overhead.std(ddof=1)) / np.sqrt(count) if count > 1 else float("inf")
    return Summary(
        count,
        (float(overhead.mean()), float(half)),
        float(column["checkpoint"].mean()) / HOUR,
        float(column["recomputation"].mean()) / HOUR,
        float(column["recovery"].mean()) / HOUR,
        failures / count,
        (ratio, float(1.96 * spread)),
        float(column["migrated"].sum()) / failures if failures else 0.0,
        float(column["interval"].mean()) / HOUR,
        overhead,
    )


def evaluate(
    machine: Machine,
    settings: Sequence[Setting],
    seed: int,
    count: int,
    progress: Callable[[int, int], None] = lambda done, of: None,
    jobs: int | None = None,
) -> list[Summary]:
    """Run settings in parallel threads, and return their summaries in order.

    Args:
        machine: the machine.
        settings: the settings.
        seed: random seed of all runs; the results do not depend on ``jobs``.
        count: number of runs of each setting.
        progress: called with the number of finished settings and the number of all settings.
        jobs: number of threads; None for one per core.
    """
    if count < 1:
        raise UsageError(f"{count} runs", hint="at least one is needed")
    found = []
    with ThreadPoolExecutor(jobs or os.cpu_count() or 1) as pool:
        for summary in pool.map(lambda setting: summarize(runs(machine, setting, seed, count)), settings):
            found.append(summary)
            progress(len(found), len(settings))
    return found


def reduction(base: Summary, other: Summary) -> float:
    """Return the reduction of the overhead against model B, as a share of model B's overhead.

    Args:
        base: summary of model B.
        other: summary of the other model.
    """
    return 1.0 - other.overhead_hours[0] / base.overhead_hours[0]
