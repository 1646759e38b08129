"""Simulation of one case under one scheduler: a workflow, a deadline and a start in a log."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from whesl.cloud.core import cost as costs
from whesl.cloud.core import scaler, schedule
from whesl.cloud.core import uncertainty as uncertainty
from whesl.cloud.core.plan_records import (
    DEFAULT_SECONDS,
    HOUR,
    FreeForecast,
    Measurement,
    Plan,
    PriceList,
    Profile,
    Purpose,
    Settings,
    Workflow,
)
from whesl.cloud.core.scaler_events import (
    Command,
    EndInstances,
    LongInterval,
    Observation,
    PaceMeasured,
    RequestNodes,
    ScalerState,
    ShortInterval,
    StageCount,
    StartInstances,
    WithdrawRequests,
)
from whesl.cloud.core.stage_speed import SLACK, Pace, paces
from whesl.cloud.core.uncertainty import LOCAL, WIDE
from whesl.lab.simulators.cloud import baseline_scalers, executors, persistence_forecast, workload
from whesl.lab.simulators.cloud import cluster as machine
from whesl.lab.simulators.cloud.background_jobs import Trace

_SHORT, _STEP = 300.0, 20.0
_SAMPLE = HOUR  # time limit of the benchmark on each platform, in seconds
_ROWS = 6000


class Case(NamedTuple):
    """The random parameters of one test case.

    Attributes:
        workflow: "OAI" or "RNASEQ".
        inputs: number of images (OAI) or samples (RNASEQ).
        deadline: time from start to deadline, in hours.
        trace: index of the trace.
        hour: hour of the trace in which the case starts.
        seed: random seed of run times and benchmark samples.
    """

    workflow: str
    inputs: int
    deadline: int
    trace: int
    hour: int
    seed: int


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a case under one scheduler.

    Attributes:
        completion: share of finished tasks of each stage.
        finished: hours from the start to the last task's end; None if not all tasks ended in time.
        cost: actual cost, with benchmark, files and transfer.
        predicted: cost that the plan expected.
        backup: cost of the backup instances.
        backup_hours: mean life of a backup instance, in hours; None for no such instance.
        backup_tasks: share of the tasks that backup instances ran.
        benchmark: cost of the benchmark.
        probability: the plan's stated probability of meeting the deadline; None for none.
        by_cluster: share of the tasks that the cluster ran.
        delays: (hours of delay, nodes) of each production job due during the workflow.
    """

    completion: tuple[float, ...]
    finished: float | None
    cost: float
    predicted: float
    backup: float
    backup_hours: float | None
    backup_tasks: float
    benchmark: float
    probability: float | None
    by_cluster: float
    delays: tuple[tuple[float, float], ...]


class World(NamedTuple):
    """A prepared case: the true run times, and the profile that the benchmark measured.

    ``seconds`` returns the true mean run time of a stage on a platform; None for the stated run times.
    ``starting`` is the time from the grant of a node to the executor's first work, in seconds. ``beyond`` is
    the time that a case may continue after its deadline, in seconds.
    """

    case: Case
    flow: Workflow
    trace: Trace
    prices: PriceList
    start: float
    profile: Profile
    forecast: FreeForecast
    factors: NDArray[np.float64]
    seconds: Callable[[str, str], float] | None = None
    starting: float = 0.0
    beyond: float = 0.0


def world(case: Case, trace: Trace, prices: PriceList) -> World:
    """Prepare a case.

    The benchmark runs 5 % of the tasks, for an hour at most, on one instance of each platform and, if a node
    is free, on the cluster, stage after stage. Stages that the benchmark does not reach get the document's
    default of five minutes.

    Args:
        case: the case.
        trace: the case's trace.
        prices: the cloud's prices.
    """
    source = np.random.default_rng(case.seed)
    flow = workload.workflow(case.workflow, case.inputs)
    spread = workload.SPREAD
    factors = np.exp(source.normal(-(spread**2) / 2, spread, size=8192))
    begin = trace.begin + case.hour * HOUR
    platforms = (*prices.platforms, workload.CLUSTER)
    most = max(1, int(0.05 * case.inputs / len(platforms)))
    entries, price, longest = [], 0.0, 0.0
    for platform in platforms:
        if platform is workload.CLUSTER and trace.free[case.hour - 1] < 1:
            continue
        able = [stage for stage in flow.stages if platform.takes(stage.processor)]
        means = [workload.seconds(case.workflow, stage.name, platform.name) for stage in able]
        rounds = max(1, min(most, int(_SAMPLE / sum(means))))
        used = 0.0
        for stage, mean in zip(able, means, strict=True):
            if used + mean > _SAMPLE:
                break
            drawn = mean * source.choice(factors, size=rounds)
            used += float(drawn.sum())
            entries.append(
                Measurement(
                    stage=stage.name,
                    platform=platform.name,
                    seconds=float(drawn.mean()),
                    deviation=mean * spread,
                    count=rounds,
                    input_bytes=stage.input_bytes,
                    output_bytes=stage.output_bytes,
                )
            )
        longest = max(longest, min(used, _SAMPLE))
        price += platform.price * min(used, _SAMPLE) / HOUR
    known = Profile(workflow=flow.name, measurements=tuple(entries), seconds=longest, cost=price)
    seen = {(one.stage, one.platform) for one in entries}
    missing = [
        Measurement(
            stage=stage.name, platform=platform.name, seconds=DEFAULT_SECONDS, estimated="five minutes"
        )
        for stage in flow.stages
        for platform in platforms
        if platform.takes(stage.processor) and (stage.name, platform.name) not in seen
    ]
    whole = msgspec.structs.replace(known, measurements=(*entries, *missing))
    # Plans start after the benchmark, whose duration counts against the deadline.
    forecast = persistence_forecast.persistence(trace.free, case.hour, trace.nodes, begin, hours=25)
    forecast = uncertainty.from_hour(forecast, begin + longest)
    return World(case, flow, trace, prices, begin, whole, forecast, factors)


def planned(one: World, settings: Settings, *, cloud_alone: bool = False) -> tuple[Plan, tuple[Pace, ...]]:
    """Return the document's plan for the median of the free nodes up to the deadline, and the stages' speeds.

    Args:
        one: the prepared case.
        settings: the scheduler's settings.
        cloud_alone: whether the plan uses the cloud alone.
    """
    found = paces(one.flow, one.profile, one.prices, None if cloud_alone else workload.CLUSTER)
    deadline = one.start + one.case.deadline * HOUR
    begin = one.start + one.profile.seconds
    free = uncertainty.at_quantile(one.forecast, 0.5, one.case.deadline)
    made = schedule.build(found, one.prices, [0.0] if cloud_alone else free, begin, deadline)
    estimate = costs.estimate(one.flow, made, one.prices, one.profile.cost)
    plan = Plan(
        schedule=made,
        cost=estimate,
        expected_cost=estimate.total,
        probability=None,
        cluster_hours=0.0,
        cloud_hours=0.0,
        settings=settings,
    )
    return plan, found


def shape(one: World, found: tuple[Pace, ...]) -> executors.Shape:
    """Return a workflow with the true run times of its tasks on the chosen platforms.

    Args:
        one: the prepared case.
        found: the speeds and the chosen platforms of the stages.
    """
    stages = one.flow.stages
    place = {stage.name: number for number, stage in enumerate(stages)}
    most = max(1, *(len(stage.parents) for stage in stages))
    parent = np.full((len(stages), most), -1, np.int64)
    barrier = np.zeros((len(stages), most), np.bool_)
    for number, stage in enumerate(stages):
        for at, edge in enumerate(stage.parents):
            parent[number, at], barrier[number, at] = place[edge.parent], edge.barrier
    true = np.full((len(stages), 2), np.inf)
    seconds = one.seconds or partial(workload.seconds, one.flow.name)
    for pace in found:
        name = pace.stage.name
        true[pace.number, executors.HPC] = seconds(name, "cluster")
        if pace.platform is not None:
            true[pace.number, executors.CLOUD] = seconds(name, pace.platform.name)
    return executors.Shape(
        np.array([stage.tasks for stage in stages], np.int64),
        parent,
        barrier,
        true,
        np.array([pace.platform.price if pace.platform else 0.0 for pace in found]),
        np.array([stage.input_bytes for stage in stages]),
        np.array([stage.output_bytes for stage in stages]),
        np.array([not one.flow.children(stage.name) for stage in stages]),
        one.factors,
        WIDE,
        LOCAL,
        one.prices.least,
        np.array([0.0 if pace.stage.checkpoints else SLACK * (pace.hpc or 0.0) for pace in found]),
    )


def run(one: World, scheduler: str, plan: Plan, found: tuple[Pace, ...]) -> Outcome:
    """Simulate a case, and return the result.

    Args:
        one: the prepared case.
        scheduler: "adaptive", "bicer" or "parsl".
        plan: the plan; the schedulers "bicer" and "parsl" use only its deadline and stages.
        found: the stages' speeds as the benchmark measured them.
    """
    return Run(one, scheduler, plan, found).outcome()


class Run:
    """The state of a running simulation of a case."""

    def __init__(self, one: World, scheduler: str, plan: Plan, found: tuple[Pace, ...]) -> None:
        self.one, self.scheduler, self.plan = one, scheduler, plan
        self.now, self.deadline = plan.schedule.start, plan.schedule.deadline
        self.shape = shape(one, found)
        self.work = executors.begun(self.shape, _ROWS)
        self.until = self.deadline + one.beyond
        horizon = self.until - one.start + 24 * HOUR
        self.cluster, self.jobs, self.picked = one.trace.at(one.start, horizon)
        machine.advance(self.cluster, self.jobs, one.start, self.now)
        self.state: ScalerState = scaler.begin(plan, found)
        self.place = {pace.stage.name: pace.number for pace in found}
        self.delay = {pace.stage.name: pace.platform.start if pace.platform else 0.0 for pace in found}
        stages = len(found)
        self.counts, self.waits = np.zeros((stages, 5), np.int64), np.zeros(stages, np.int64)
        self.closed = np.zeros(stages, bool)
        self.asked = np.full(stages, HOUR)  # time limit of each stage's newest request, in seconds

    def outcome(self) -> Outcome:
        """Simulate to the last task, or to the end of the time allowed after the deadline."""
        finished = None
        number = 0
        whole = self.shape.tasks.sum()
        while self.now < self.until - 1e-6:
            self._decide(number)
            number += 1
            until = min(self.until, self.now + _SHORT)
            machine.advance(self.cluster, self.jobs, self.now, until)
            self._grants()
            executors.advance(self.work, self.shape, self.now, until, _STEP, self.plan.settings.preload)
            self.now = until
            if self.work.done.sum() == whole:
                finished = float(self.work.tally[executors.LAST] - self.one.start) / HOUR
                break
        executors.finish(self.work, self.shape, self.now)
        return self._result(finished)

    def _observe(self) -> Observation:
        executors.counted(self.work, self.now, self.counts)
        machine.waiting(self.cluster, self.waits)
        done = self.work.done.sum(axis=1)
        return Observation(
            stages=tuple(
                StageCount(
                    done=int(done[at]),
                    ready=int(self.work.released[at] - done[at] - self.counts[at, 3]),
                    running=int(self.counts[at, 3]),
                    hpc_waiting=int(self.waits[at]),
                    hpc_running=int(self.counts[at, 0]),
                    hpc_staying=int(self.counts[at, 4]),
                    cloud_scheduled=int(self.counts[at, 1]),
                    cloud_backup=int(self.counts[at, 2]),
                )
                for at in range(len(done))
            )
        )

    def _decide(self, number: int) -> None:
        seen = self._observe()
        commands: tuple[Command, ...]
        if self.scheduler == "adaptive":
            if number % 12 == 0:
                if number:
                    self._measured()
                self.state, commands = scaler.step(self.state, LongInterval(observation=seen), self.now)
            else:
                self.state, commands = scaler.step(self.state, ShortInterval(observation=seen), self.now)
        else:
            idle = int(self.cluster.state[machine.FREE])
            if self.scheduler == "bicer":
                slowest = float(self.shape.input.max()) / WIDE
                commands = baseline_scalers.bicer(self.state, seen, idle, self.now, slowest)
            else:
                commands = baseline_scalers.parsl(self.state, seen, idle)
        for command in commands:
            self._perform(command)
        for at, count in enumerate(seen.stages):
            if count.done == self.shape.tasks[at] and not self.closed[at]:
                self.closed[at] = True
                machine.give_back(self.cluster, at, executors.end_idle(self.work, at))

    def _measured(self) -> None:
        """Give the scaler the mean run times of each stage with at least five tasks."""
        for table in self.state.tables:
            at = self.place[table.stage]
            mean = [
                float(total / count) if count >= 5 else None
                for total, count in (self.work.spent[at, side] for side in (0, 1))
            ]
            event = PaceMeasured(stage=table.stage, hpc=mean[0], cloud=mean[1])
            self.state, _ = scaler.step(self.state, event, self.now)

    def _perform(self, command: Command) -> None:
        if isinstance(command, RequestNodes):
            self.asked[self.place[command.stage]] = command.seconds
            machine.ask(
                self.cluster, self.now, self.place[command.stage], command.count, float(command.seconds)
            )
        elif isinstance(command, WithdrawRequests):
            machine.withdraw(self.cluster, self.place[command.stage], command.count)
        elif isinstance(command, StartInstances):
            purpose = executors.BACKUP if command.purpose is Purpose.BACKUP else executors.SCHEDULED
            executors.add(
                self.work,
                self.place[command.stage],
                executors.CLOUD,
                purpose,
                command.count,
                self.now,
                self.now + self.delay[command.stage],
                float(command.until),
            )
        elif isinstance(command, EndInstances):
            purpose = executors.BACKUP if command.purpose is Purpose.BACKUP else executors.SCHEDULED
            executors.stop(self.work, self.place[command.stage], purpose, command.count)

    def _grants(self) -> None:
        state = self.cluster.state
        for time, stage, count in self.cluster.grants[: state[machine.GRANTED]]:
            ends = self.deadline if self.scheduler == "bicer" else time + self.asked[int(stage)]
            at = float(time) + self.one.starting
            executors.add(self.work, int(stage), executors.HPC, 0, int(count), float(time), at, float(ends))
        state[machine.GRANTED] = 0

    def _result(self, finished: float | None) -> Outcome:
        tally, prices = self.work.tally, self.one.prices
        done = self.work.done
        files = tally[executors.READ] / 1e9 * prices.read + tally[executors.WRITTEN] / 1e9 * prices.write
        moved = tally[executors.MOVED] / 1e9 * prices.leaving
        benchmark = self.one.profile.cost if self.scheduler == "adaptive" else 0.0
        lived = tally[executors.BACKUP_COUNT]
        return Outcome(
            completion=tuple(float(share) for share in done.sum(axis=1) / self.shape.tasks),
            finished=finished,
            cost=float(tally[executors.COST] + files + moved + benchmark),
            predicted=self.plan.expected_cost,
            backup=float(tally[executors.BACKUP_COST]),
            backup_hours=float(tally[executors.BACKUP_HOURS] / lived) if lived else None,
            backup_tasks=float(tally[executors.BACKUP_TASKS] / max(1, done.sum())),
            benchmark=benchmark,
            probability=self.plan.probability,
            by_cluster=float(done[:, executors.HPC].sum() / max(1, done.sum())),
            delays=self._delays(),
        )

    def _delays(self) -> tuple[tuple[float, float], ...]:
        """Return (hours of delay, nodes) of each production job due to start before the deadline."""
        machine.advance(self.cluster, self.jobs, self.now, self.deadline + 24 * HOUR)
        before = self.one.trace.start[self.picked]
        begin = self.one.start
        touched = (before > begin) & (before <= self.deadline)
        after = np.where(self.cluster.start < 0, self.deadline + 24 * HOUR, self.cluster.start)
        late = (after[touched] - before[touched]) / HOUR
        rows = zip(late.tolist(), self.jobs.nodes[touched].tolist(), strict=True)
        return tuple((round(hours, 3), nodes) for hours, nodes in rows)
