"""The two sides of a run as the shell calls them: executors that are a scheduler's jobs or instances."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Protocol

from whesl.cloud.core.plan_records import Domain
from whesl.cloud.providers.port import (
    EndReason,
    Instance,
    InstanceRequest,
    InstanceState,
    Market,
    NoCapacityError,
    Provider,
)
from whesl.cloud.runner.events_and_commands import Seen
from whesl.cloud.runner.run_records import ExecutorAsked, ExecutorState
from whesl.cloud.transfer.port import Store
from whesl.managers.resource.port import Demands, JobRecord, JobRequest, Scheduler, TriesRequests
from whesl.model.errors import RefusedError
from whesl.model.states import JobState

# Seconds after its end time at which an instance that the cloud does not show counts as gone.
UNSEEN = 120.0
# Seconds before an instance's end time at which its executor interrupts the task, and reports that.
BEFORE_END = 10.0


class Side(Protocol):
    """One domain's executors. Calls may take long, and raise the errors of the port behind them."""

    domain: Domain
    store: Store

    def check(self, seconds: float) -> None:
        """Raise RefusedError where executors for ``seconds`` would surely be refused; starts nothing."""

    def start(self, asked: ExecutorAsked) -> str:
        """Start an executor once; return its handle."""

    def look(
        self, executors: Collection[tuple[str, str, float]], wanted: Callable[[str], bool]
    ) -> dict[str, Seen]:
        """Return the states of the visible ones among ``executors`` (id, handle, end time).

        An executor that carries the run's tag and is not ``wanted`` is ended.

        Args:
            executors: id, handle and end time of each executor.
            wanted: returns whether an executor is recorded and has not ended, by its id.
        """

    def end(self, known_as: str, handle: str) -> None:
        """End an executor; ``handle`` is '' where its start was not answered.

        Args:
            known_as: the executor's id.
            handle: the handle from the executor's start, '' where the start was not answered.
        """

    def close(self) -> None:
        """Release the side's resources in this process; executors continue."""


class SchedulerSide(Side):
    """Executors as scheduler jobs of one node each.

    Args:
        domain: the domain of the nodes; a partition of CLOUD nodes belongs to the cloud.
        scheduler: the scheduler that runs the jobs.
        store: the domain's storage.
        script: batch script, whose arguments are the executor's name and its seconds.
        partition: the jobs' partition; '' for the default one.
        logs: directory of the jobs' output.
        demands: further resource demands of each job.
    """

    def __init__(
        self,
        domain: Domain,
        scheduler: Scheduler,
        store: Store,
        *,
        script: Path,
        partition: str = "",
        logs: Path,
        demands: Demands = Demands(),  # noqa: B008 - frozen
    ) -> None:
        self.domain, self.store = domain, store
        self._scheduler, self._script, self._partition, self._logs = scheduler, script, partition, logs
        self._demands = demands

    def check(self, seconds: float) -> None:
        """Let the scheduler validate a request, if it supports that."""
        if isinstance(self._scheduler, TriesRequests):
            self._scheduler.try_request(self._request("trial", "trial", seconds, seconds))

    def start(self, asked: ExecutorAsked) -> str:
        limit = asked.seconds if self.domain is Domain.HPC else max(60.0, asked.ends - time.time())
        name = f"{asked.stage}-{asked.id[-6:]}"
        return self._scheduler.submit(self._request(asked.id, name, asked.seconds, limit))

    def _request(self, token: str, name: str, seconds: float, limit: float) -> JobRequest:
        log = str(self._logs / f"{token}.log")
        return JobRequest(
            token=token,
            script=str(self._script),
            arguments=(token, str(int(seconds))),
            name=name,
            nodes=1,
            partition=self._partition,
            time_limit=max(1.0, limit / 60),
            workdir=str(self._logs),
            output=log,
            error=log,
            demands=self._demands,
        )

    def look(
        self, executors: Collection[tuple[str, str, float]], wanted: Callable[[str], bool]
    ) -> dict[str, Seen]:
        # A job that the scheduler surely does not have is gone.
        handles = [handle for _, handle, _ in executors if handle]
        records = self._scheduler.jobs(handles)
        found = {}
        for known_as, handle, _ in executors:
            record = records.get(handle) or self._scheduler.find(known_as)
            if record is not None:
                found[known_as] = _of_job(record)
            elif handle:
                found[known_as] = Seen(
                    state=ExecutorState.GONE, handle=handle, why="the scheduler has no such job"
                )
        return found

    def end(self, known_as: str, handle: str) -> None:
        if not handle:
            record = self._scheduler.find(known_as)
            handle = record.id if record is not None else ""
        if handle:
            self._scheduler.cancel(handle)

    def close(self) -> None:
        """Do nothing, since the scheduler needs no closing."""


class ProviderSide(Side):
    """Executors as instances of a provider.

    Args:
        provider: the provider of the instances.
        store: the domain's storage.
        run: the tag of the run's instances.
        command: an instance's command, with the placeholders ``{executor}`` and ``{ends}``.
    """

    domain = Domain.CLOUD

    def __init__(self, provider: Provider, store: Store, *, run: str, command: str) -> None:
        self.store = store
        self._provider, self._run, self._command = provider, run, command

    def check(self, seconds: float) -> None:
        """Do nothing, since a cloud refuses only real requests."""

    def start(self, asked: ExecutorAsked) -> str:
        market = Market.SPOT if asked.spot else Market.ON_DEMAND
        command = self._command.format(executor=asked.id, ends=int(asked.ends - BEFORE_END))
        request = InstanceRequest(
            token=asked.id,
            workflow=self._run,
            kind=asked.platform,
            ends=asked.ends,
            market=market,
            command=command,
        )
        instance = self._provider.start(request)
        if instance.gone:
            raise RefusedError(
                f"the instance has ended already: {instance.reason.value or 'nobody says why'}"
            )
        return instance.id

    def look(
        self, executors: Collection[tuple[str, str, float]], wanted: Callable[[str], bool]
    ) -> dict[str, Seen]:
        # An instance that is not shown is gone ``UNSEEN`` seconds after its end time.
        handles = {known_as: handle for known_as, handle, _ in executors}
        shown: dict[str, Instance] = {}
        ended: list[str] = []
        listed = self._provider.instances(self._run)
        # A cloud may start two instances for a token: the one with the known id is kept, else a live one.
        for one in sorted(listed, key=lambda one: (one.id != handles.get(one.token), one.gone)):
            first = shown.setdefault(one.token, one) is one
            stray = not one.gone and not (first and wanted(one.token))
            if stray or one.state is InstanceState.STOPPED:
                ended.append(one.id)
        if ended:
            self._provider.terminate(ended)
        found = {}
        for known_as, handle, ends in executors:
            instance = shown.get(known_as) or self._provider.find(known_as)
            if instance is not None:
                state = _STATES[instance.state]
                why = instance.reason.value
                if instance.state is InstanceState.ENDED and instance.reason is EndReason.UNKNOWN:
                    why = "the cloud does not say why"
                found[known_as] = Seen(
                    state=state, handle=instance.id, why=why, revoked=bool(instance.revocation)
                )
            elif time.time() > ends + UNSEEN:
                why = "the cloud does not show it, and its end time has passed"
                found[known_as] = Seen(state=ExecutorState.GONE, handle=handle, why=why)
        return found

    def end(self, known_as: str, handle: str) -> None:
        if not handle:
            instance = self._provider.find(known_as)
            handle = instance.id if instance is not None else ""
        if handle:
            self._provider.terminate([handle])

    def close(self) -> None:
        self._provider.close()


_STATES = {
    InstanceState.PENDING: ExecutorState.WAITING,
    InstanceState.RUNNING: ExecutorState.UP,
    InstanceState.ENDING: ExecutorState.ENDING,
    InstanceState.STOPPED: ExecutorState.ENDING,
    InstanceState.ENDED: ExecutorState.GONE,
}


def _of_job(record: JobRecord) -> Seen:
    if record.state.ended:
        why = f"its job has ended: {record.raw_state or record.state.value}"
        return Seen(state=ExecutorState.GONE, handle=record.id, why=why)
    up = record.state is JobState.RUNNING
    return Seen(state=ExecutorState.UP if up else ExecutorState.WAITING, handle=record.id)


def final(error: Exception) -> bool:
    """Return whether a failed start must not be repeated."""
    return isinstance(error, RefusedError) and not isinstance(error, NoCapacityError)
