"""A run's state: the fold of its journal, for the runner and for readers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import msgspec

from whesl.cloud.core.plan_records import HOUR, Domain, Task, Workflow
from whesl.cloud.core.scaler_events import ScalerState
from whesl.cloud.runner import run_records as r
from whesl.cloud.runner.run_records import ExecutorState
from whesl.cloud.transfer.port import Digest
from whesl.runtime.journal.archived_records import Record as Entry

LEAST_BILLED = 60.0  # smallest number of seconds of an instance that are billed
_ANSWER = 60.0  # seconds for which instances wait for the cluster's first answer to a request


@dataclass
class Executor:
    """One executor; ``number``: how many tasks it has got; ``task``: its present task, '' for none.

    ``told``: whether it was told to end; an executor that is gone without that was lost. ``ending``: time at
    which it was told to end.
    """

    asked: r.ExecutorAsked
    since: float
    stage: str
    state: ExecutorState = ExecutorState.ASKED
    handle: str = ""
    up: float = 0.0
    gone: float = 0.0
    ends: float = 0.0
    number: int = 0
    task: str = ""
    why: str = ""
    told: bool = False
    ending: float = 0.0
    replaced: bool = False

    @property
    def id(self) -> str:
        return self.asked.id

    @property
    def domain(self) -> Domain:
        return self.asked.domain

    @property
    def alive(self) -> bool:
        return self.state is not ExecutorState.GONE

    @property
    def over(self) -> float:
        """The end of the executor's time; 0 for a request that the cluster has not granted."""
        return self.ends if self.domain is Domain.HPC else self.since + self.asked.seconds

    def cost(self, now: float) -> float:
        """Return the executor's cost from its request to its end; 0 on the cluster."""
        if not self.asked.hourly or (self.gone and not self.handle):
            return 0.0
        seconds = (self.gone or now) - self.since
        return self.asked.hourly * max(LEAST_BILLED, seconds) / HOUR


@dataclass(frozen=True)
class RunView:
    """An immutable copy of the run's state for the threads that start and watch executors.

    ``executors`` and ``refusal`` are copied from ``RunState``; ``cloud_instead``: whether instances may do
    the work that the cluster refuses.
    """

    executors: Mapping[str, Executor]
    refusal: str | None
    cloud_instead: bool

    def must_wait(self, asked: r.ExecutorAsked, now: float) -> bool:
        """Return whether an instance waits until the cluster has accepted or refused its part.

        Args:
            asked: the instance's request.
            now: seconds since the epoch.
        """
        if asked.domain is Domain.HPC or self.cloud_instead or self.refusal != "":
            return False
        return any(
            one.domain is Domain.HPC and one.state is ExecutorState.ASKED and now < one.since + _ANSWER
            for one in self.executors.values()
        )

    def forbidden(self, asked: r.ExecutorAsked) -> bool:
        """Return whether an instance must not be started, since the cluster refuses its part."""
        return asked.domain is Domain.CLOUD and bool(self.refusal) and not self.cloud_instead


@dataclass
class Progress:
    """The progress of one task."""

    task: Task
    missing: int
    attempt: int = 0
    lost: int = 0
    failed: int = 0
    done: float = 0.0
    final: bool = False
    executor: str = ""
    domain: Domain | None = None
    seconds: float = 0.0


@dataclass
class RunState:
    """The whole state of a run. ``files``: the digest of each file in each domain where it lies.

    ``refusal``: why the cluster has refused the last request that it answered; None where it has accepted
    this request, '' before the cluster's first answer.
    """

    workflow: Workflow
    started: r.RunStarted | None = None
    begun: float = 0.0
    ended: r.RunEnded | None = None
    ended_at: float = 0.0
    scaler: ScalerState | None = None
    interval: float = 0.0
    executors: dict[str, Executor] = field(default_factory=dict)
    tasks: dict[str, Progress] = field(default_factory=dict)
    children: dict[str, list[str]] = field(default_factory=dict)
    files: dict[str, dict[Domain, Digest]] = field(default_factory=dict)
    done: dict[str, int] = field(default_factory=dict)
    risk: r.Risk | None = None
    troubles: dict[str, str] = field(default_factory=dict)
    refused: int = 0
    refusal: str | None = ""
    copied: int = 0
    copying: float = 0.0

    def __post_init__(self) -> None:
        for task in self.workflow.tasks:
            self.tasks[task.name] = Progress(task=task, missing=len(set(task.parents)))
            for parent in set(task.parents):
                self.children.setdefault(parent, []).append(task.name)
        self.done = {stage.name: 0 for stage in self.workflow.stages}

    def cost(self, now: float) -> float:
        """Return the cost of the instances until ``now``."""
        return sum(executor.cost(now) for executor in self.executors.values())

    def take(self, record: r.Record, time: float) -> list[str]:
        """Apply one record; return the tasks whose last parent is done with it.

        Args:
            record: the record.
            time: the record's time, seconds since the epoch.
        """
        if isinstance(record, r.TaskDone):
            return self._done(record, time)
        if isinstance(record, r.ExecutorAsked):
            self.executors[record.id] = Executor(
                asked=record, since=time, stage=record.stage, ends=record.ends
            )
            if record.instead:
                self.executors[record.instead].replaced = True
        elif isinstance(record, r.ExecutorSeen):
            self._seen(record, time)
        elif isinstance(record, r.Assigned):
            executor, progress = self.executors[record.executor], self.tasks[record.task]
            executor.task, executor.number = record.task, record.number
            progress.executor, progress.attempt, progress.domain = (
                executor.id,
                record.attempt,
                executor.domain,
            )
        elif isinstance(record, r.TaskFailed | r.TaskLost):
            self._not_done(record)
        elif isinstance(record, r.FileCopied):
            self.files.setdefault(record.name, {})[record.domain] = record.digest
            self.copied += record.digest.size if record.seconds else 0
            self.copying += record.seconds
        else:
            self._about_the_run(record, time)
        return []

    def _about_the_run(self, record: r.Record, time: float) -> None:
        if isinstance(record, r.RunStarted):
            self.started, self.begun = record, time
        elif isinstance(record, r.Scaled):
            self.scaler, self.interval = record.state, time
        elif isinstance(record, r.ExecutorRefused):
            executor = self.executors[record.id]
            executor.state, executor.gone, executor.why = ExecutorState.GONE, time, record.why
            self.refused += 1
            if executor.domain is Domain.HPC and not executor.told:
                self.refusal = record.why
        elif isinstance(record, r.ExecutorMoved):
            self.executors[record.id].stage = record.stage
        elif isinstance(record, r.Risk):
            self.risk = record
        elif isinstance(record, r.Trouble):
            self.troubles.pop(record.what, None)
            if not record.over:
                self.troubles[record.what] = record.why
        elif isinstance(record, r.RunEnded):
            self.ended, self.ended_at = record, time

    def _seen(self, record: r.ExecutorSeen, time: float) -> None:
        executor = self.executors[record.id]
        executor.state = record.state
        if executor.domain is Domain.HPC and record.handle:
            self.refusal = None
        executor.handle = record.handle or executor.handle
        executor.why = record.why or executor.why
        if record.state is ExecutorState.UP and not executor.up:
            executor.up = time
            if not executor.ends:
                executor.ends = time + executor.asked.seconds
        if record.state in (ExecutorState.STOPPING, ExecutorState.ENDING):
            executor.told = True
        if record.state is ExecutorState.ENDING and not executor.ending:
            executor.ending = time
        if record.state is ExecutorState.GONE:
            executor.gone = time

    def _done(self, record: r.TaskDone, time: float) -> list[str]:
        progress, executor = self.tasks[record.task], self.executors[record.executor]
        if executor.task == record.task:
            executor.task = ""
        progress.done, progress.seconds, progress.executor = time, record.seconds, record.executor
        self.done[progress.task.stage] += 1
        for made in record.outputs:
            # The file has new content, so copies of the old content no longer count.
            self.files[made.name] = {executor.domain: made.digest}
        ready = []
        for child in self.children.get(record.task, ()):
            self.tasks[child].missing -= 1
            if not self.tasks[child].missing:
                ready.append(child)
        return ready

    def _not_done(self, record: r.TaskFailed | r.TaskLost) -> None:
        progress = self.tasks[record.task]
        executor = self.executors.get(record.executor)
        if executor is not None and executor.task == record.task:
            executor.task = ""
        progress.executor = ""
        if isinstance(record, r.TaskFailed):
            progress.failed += 1
            progress.final = record.final
        else:
            progress.lost += 1


def fold(workflow: Workflow, entries: Iterable[Entry]) -> RunState:
    """Return the run's state from journal entries; unknown kinds of entries are ignored.

    Args:
        workflow: the workflow.
        entries: the journal's entries in order.
    """
    state = RunState(workflow)
    for entry in entries:
        kind = r.KINDS.get(entry.kind)
        if kind is not None:
            state.take(msgspec.json.decode(bytes(entry.content), type=kind), entry.time)
    return state
