"""Runs the adaptive resource scaler (ARS) at its intervals, and carries its commands out."""

from __future__ import annotations

import math
from statistics import fmean

import msgspec

from whesl.cloud.core import scaler
from whesl.cloud.core.plan_records import CLUSTER, HOUR, Domain, Purpose
from whesl.cloud.core.scaler_events import (
    Command,
    DeadlineAtRisk,
    EndInstances,
    LongInterval,
    Observation,
    PaceMeasured,
    RequestNodes,
    ScalerState,
    ShortInterval,
    StageCount,
    StageTable,
    StartInstances,
    WithdrawRequests,
)
from whesl.cloud.runner import run_records as r
from whesl.cloud.runner.assigning import Queues
from whesl.cloud.runner.events_and_commands import Start
from whesl.cloud.runner.run_records import ExecutorState
from whesl.cloud.runner.state import LEAST_BILLED, Executor
from whesl.cloud.runner.transition_context import Context

STUCK = 2  # short intervals without a working executor after which the deadline counts as at risk
_NEW = (ExecutorState.ASKED, ExecutorState.WAITING)
_WORKING = (*_NEW, ExecutorState.UP)
# Executors in a row that end before their first report; then lost executors of this side are not replaced.
STILLBORN = 6
_ABOUT = 0.5  # seconds; an executor that ends sooner is not counted
ALARM = 0.8  # share of the budget, spent or promised, at which the user is warned
NEAR_BUDGET = "the budget's end is near"
_SAMPLES = 3  # tasks of a stage after which their run times replace those of the profile


def _gone(executor: Executor) -> float:
    return executor.gone


class Scaling:
    """The executors of a run.

    Args:
        context: the run's context.
        queues: the run's queues of tasks.
        initial: the scaler's first state, for a run that has none yet.
    """

    def __init__(self, context: Context, queues: Queues, initial: ScalerState) -> None:
        self._context, self._queues, self._initial = context, queues, initial
        self._stages = context.state.workflow.stages
        self._platforms = {platform.name: platform for platform in context.limits.platforms}
        self._stuck = 0
        self._number = len(context.state.executors)
        self._measured: dict[tuple[str, Domain], list[float]] = {}

    def measured(self, stage: str, domain: Domain, seconds: float) -> None:
        """Record the run time of a task.

        Args:
            stage: the stage's name.
            domain: the domain.
            seconds: the run time.
        """
        self._measured.setdefault((stage, domain), []).append(seconds)

    def intervals(self, now: float) -> None:
        """Handle the begin of a long or a short interval, if one has begun."""
        context = self._context
        state = context.state.scaler or self._initial
        settings = state.settings
        due = math.floor((now - state.start) / settings.long + 1e-9)
        if context.state.scaler is None or due > state.hour:
            # Hours that passed while no runner ran are skipped.
            state = msgspec.structs.replace(self._paced(state, now), hour=max(-1, due - 1))
            self._scale(state, LongInterval(observation=self.observation(now)), now)
        elif not 0 <= now - context.state.interval < settings.short:  # the clock may have been set back
            self._scale(self._paced(state, now), ShortInterval(observation=self.observation(now)), now)

    def observation(self, now: float) -> Observation:
        """Return the present counts of all stages."""
        state = self._context.state
        half = (state.scaler or self._initial).settings.long / 2
        counts = {stage.name: dict.fromkeys(StageCount.__struct_fields__, 0) for stage in self._stages}
        for name, count in counts.items():
            count["done"] = state.done[name]
            count["ready"] = self._queues.waiting(name)
        for executor in state.executors.values():
            if executor.task and executor.alive:
                counts[state.tasks[executor.task].task.stage]["running"] += 1
            if executor.state not in _WORKING or (executor.over and now >= executor.over - _ABOUT):
                continue
            count = counts[executor.stage]
            if executor.domain is Domain.HPC:
                up = executor.state is ExecutorState.UP
                count["hpc_running" if up else "hpc_waiting"] += 1
                count["hpc_staying"] += up and bool(executor.over) and executor.over > now + half
            elif executor.asked.purpose is Purpose.BACKUP:
                count["cloud_backup"] += 1
            else:
                count["cloud_scheduled"] += 1
        return Observation(stages=tuple(StageCount(**counts[stage.name]) for stage in self._stages))

    def _paced(self, state: ScalerState, now: float) -> ScalerState:
        for stage in self._stages:
            means = {}
            for domain in Domain:
                found = self._measured.get((stage.name, domain), ())
                if len(found) >= _SAMPLES:
                    means[domain.value] = fmean(found)
            if means:
                state, _ = scaler.step(state, PaceMeasured(stage=stage.name, **means), now)
        return state

    def _scale(self, state: ScalerState, event: LongInterval | ShortInterval, now: float) -> None:
        state, commands = scaler.step(state, event, now)
        self._refused(now)
        self._context.write(r.Scaled(state=state, long=isinstance(event, LongInterval)), now)
        for command in commands:
            self._carry_out(command, now)
        if isinstance(event, ShortInterval):
            self._replace_lost(state, now)
        self._warn(now)
        self._look_for_standstill(state, event.observation, now)

    def _replace_lost(self, state: ScalerState, now: float) -> None:
        """Request a replacement for each lost executor, for the rest of its time."""
        executors = self._context.state.executors.values()
        for domain in Domain:
            recent = sorted((one for one in executors if one.domain is domain and one.gone), key=_gone)
            stillborn = 0
            for one in reversed(recent):
                if one.up or one.told:
                    break
                stillborn += 1
            why = ""
            if stillborn >= STILLBORN:
                why = f"{stillborn} executors ended before they were up, the last: {recent[-1].why}"
            self._context.trouble(f"executors, {domain.value} side", why, now)
            if why:
                continue  # the next hour's regular requests try again
            for one in [one for one in recent if not (one.told or one.replaced)]:
                asked = one.asked
                left = one.since + asked.seconds - now
                table = next(table for table in state.tables if table.stage == one.stage)
                if left < state.settings.short or self._context.state.done[one.stage] >= table.tasks:
                    continue
                side, platform = domain, asked.platform
                if domain is Domain.HPC and self._cloud_instead(table):
                    side, platform = Domain.CLOUD, table.platform
                elif domain is Domain.HPC:
                    left = asked.seconds
                ends = math.ceil(now + left + self._beyond(one.stage)) if side is Domain.CLOUD else 0.0
                self._ask(side, one.stage, platform, asked.purpose, left, ends=ends, now=now, instead=one.id)

    def _cloud_instead(self, table: StageTable) -> bool:
        """Return whether an instance may replace a node that the cluster has refused."""
        allowed = bool(self._context.state.refusal) and self._context.limits.cloud_instead
        there = len(self._of(table.stage, Domain.CLOUD, _WORKING))
        return allowed and bool(table.platform) and there < table.limit

    def _look_for_standstill(self, state: ScalerState, observation: Observation, now: float) -> None:
        """Report the deadline at risk when tasks are left and no executor works, which no plan foresees."""
        left = sum(stage.tasks - self._context.state.done[stage.name] for stage in self._stages)
        works = any(executor.state is ExecutorState.UP for executor in self._context.state.executors.values())
        self._stuck = self._stuck + 1 if left and not works else 0
        if self._stuck > STUCK and self._context.state.risk is None:
            # The estimate assumes that the tasks left can begin now.
            seconds = scaler.expected(state, observation, now) - now
            expected = max(now + seconds, now + self._stuck * state.settings.short)
            why = "neither the cluster nor the cloud gives anything"
            self._context.write(r.Risk(expected=expected, deadline=state.deadline, why=why), now)

    def _carry_out(self, command: Command, now: float) -> None:
        if isinstance(command, RequestNodes):
            for _ in range(command.count):
                self._ask(
                    Domain.HPC, command.stage, CLUSTER, Purpose.SCHEDULED, command.seconds, now=now, ends=0.0
                )
        elif isinstance(command, StartInstances):
            for _ in range(command.count):
                ends = math.ceil(command.until + self._beyond(command.stage))
                left = command.until - now
                self._ask(
                    Domain.CLOUD, command.stage, command.platform, command.purpose, left, now=now, ends=ends
                )
        elif isinstance(command, WithdrawRequests):
            for executor in self._of(command.stage, Domain.HPC, _NEW)[: command.count]:
                self._context.end(executor, "no longer needed", now)
        elif isinstance(command, EndInstances):
            found = [
                one
                for one in self._of(command.stage, Domain.CLOUD, _WORKING)
                if (one.asked.purpose is Purpose.BACKUP) is (command.purpose is Purpose.BACKUP)
            ]
            for executor in sorted(found, key=lambda one: bool(one.task))[: command.count]:
                self.release(executor, now)
        elif isinstance(command, DeadlineAtRisk):
            risk = r.Risk(expected=command.expected, deadline=command.deadline, why="at the pace of now")
            self._context.write(risk, now)

    def release(self, executor: Executor, now: float) -> None:
        """End an executor after its present task.

        Args:
            executor: the executor.
            now: seconds since the epoch.
        """
        if executor.task:
            stopping = r.ExecutorSeen(id=executor.id, state=ExecutorState.STOPPING, why="no longer needed")
            self._context.write(stopping, now)
        else:
            self._context.end(executor, "no longer needed", now)

    def _beyond(self, stage: str) -> float:
        """Return the seconds that an instance may need after its time to finish its last task."""
        state = self._context.state.scaler
        tables = state.tables if state else ()
        seconds = max((one.cloud or 0.0 for one in tables if one.stage == stage), default=0.0)
        return max(60.0, 2 * seconds)

    def _of(self, stage: str, domain: Domain, states: tuple[ExecutorState, ...]) -> list[Executor]:
        return [
            one
            for one in self._context.state.executors.values()
            if one.stage == stage and one.domain is domain and one.state in states
        ]

    def _ask(
        self,
        domain: Domain,
        stage: str,
        platform: str,
        purpose: Purpose,
        seconds: float,
        *,
        ends: float,
        now: float,
        instead: str = "",
    ) -> None:
        context = self._context
        started = context.state.started
        assert started is not None
        kind = self._platforms.get(platform) if domain is Domain.CLOUD else None
        spot = context.limits.spot and kind is not None and kind.spot is not None
        hourly = ((kind.spot if spot else kind.price) or 0.0) if kind is not None else 0.0
        if domain is Domain.CLOUD and self._refused(now):
            return
        if hourly and not self._affordable(hourly, ends - now, now):
            return
        self._number += 1
        asked = r.ExecutorAsked(
            id=f"{started.run}-{self._number:06}",
            domain=domain,
            stage=stage,
            platform=platform,
            purpose=purpose,
            seconds=seconds,
            ends=ends,
            hourly=hourly,
            spot=spot,
            instead=instead,
        )
        context.write(asked, now)
        context.commands.append(Start(asked))

    def _refused(self, now: float) -> bool:
        """Return whether the cluster refuses its part and the user has not allowed the cloud to do it."""
        refusal = self._context.state.refusal
        forbidden = bool(refusal) and not self._context.limits.cloud_instead
        why = refusal or ""
        why += "; no instance is paid for meanwhile (--cloud-instead allows it)" if forbidden else ""
        # Before the cluster's first answer, the result of the trial before the run stays valid.
        if refusal != "":
            self._context.trouble("requests to the cluster", why, now)
        return forbidden

    def _affordable(self, hourly: float, seconds: float, now: float) -> bool:
        """Return whether the budget covers one more instance, if all others run to their end times."""
        budget = self._context.limits.budget
        if budget is None:
            return True
        promised = self._promised(now)
        affordable = promised + hourly * max(LEAST_BILLED, seconds) / HOUR <= budget
        why = "" if affordable else f"{promised:.2f} of {budget:.2f} are spent or promised; no more instances"
        self._context.trouble("budget", why, now)
        return affordable

    def _promised(self, now: float) -> float:
        """Return the cost so far plus the cost of all live instances until their end times."""
        executors = self._context.state.executors.values()
        alive = (one for one in executors if one.alive and one.asked.hourly)
        # The end time of an instance includes the time to finish its last task.
        return self._context.state.cost(now) + sum(
            one.asked.hourly * max(0.0, one.asked.ends - max(now, one.since + LEAST_BILLED)) / HOUR
            for one in alive
        )

    def _warn(self, now: float) -> None:
        """Warn that most of the budget is spent or promised, before it is used up."""
        context, budget = self._context, self._context.limits.budget
        if budget is None or NEAR_BUDGET in context.state.troubles:
            return
        promised = self._promised(now)
        if "budget" in context.state.troubles or promised >= ALARM * budget:
            why = f"{promised:.2f} of {budget:.2f} are spent, or promised to instances that run"
            context.trouble(NEAR_BUDGET, why, now)
