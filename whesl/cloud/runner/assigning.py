"""Assigns tasks to executors and copies data: two queues for each stage, and preloading.

Source: section 3.3.3 of the document; ``whesl.cloud.core.task_preloading`` implements its rule.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from whesl.cloud.core import task_preloading
from whesl.cloud.core.plan_records import Domain
from whesl.cloud.core.scaler_events import StageTable
from whesl.cloud.core.stage_speed import SLACK
from whesl.cloud.runner import run_records as r
from whesl.cloud.runner.events_and_commands import Copy, Send
from whesl.cloud.runner.messages import Assignment
from whesl.cloud.runner.run_records import ExecutorState, Made
from whesl.cloud.runner.state import Executor
from whesl.cloud.runner.transition_context import Context

_UP = (ExecutorState.UP,)
_EXPECTED = (ExecutorState.ASKED, ExecutorState.WAITING, ExecutorState.UP)


class Queues:
    """Queues of tasks whose parents are done, by stage and domain.

    Args:
        context: the run's context.
        domains: the run's domains.
    """

    def __init__(self, context: Context, domains: tuple[Domain, ...]) -> None:
        self._context = context
        self._domains = domains
        self._queues: dict[str, dict[Domain, dict[str, None]]] = {
            stage.name: {Domain.HPC: {}, Domain.CLOUD: {}} for stage in context.state.workflow.stages
        }
        self._processors = {stage.name: stage.processor for stage in context.state.workflow.stages}
        self._platforms = {platform.name: platform for platform in context.limits.platforms}
        self._copying: set[tuple[str, Domain]] = set()
        self._copy_again: dict[tuple[str, Domain], float] = {}
        state = context.state
        read = {file.name for task in state.workflow.tasks for file in task.inputs}
        self._final = {
            file.name for task in state.workflow.tasks for file in task.outputs if file.name not in read
        }
        self._away: set[str] = set()  # results that lie only outside the cluster's side
        self._new: list[str] = []  # results whose copy was not requested yet
        self._missing: dict[tuple[str, Domain], list[str]] = {}  # missing inputs by task and domain
        self.made(state.files)

    def waiting(self, stage: str) -> int:
        """Return the number of a stage's queued tasks."""
        return sum(len(queue) for queue in self._queues[stage].values())

    def put(self, name: str) -> None:
        """Map a task whose parents are done to a domain, and have its inputs copied there."""
        task = self._context.state.tasks[name].task
        queues = self._queues[task.stage]
        able = [domain for domain in self._domains if self._seconds(task.stage, domain) is not None]
        domain = able[0] if able else self._domains[0]
        if len(able) == 2:
            # The cluster's pending requests do not count, since the time of their grant is unknown. Pending
            # instances count, since they start within minutes.
            hpc = self._executors(task.stage, Domain.HPC)
            cloud = self._executors(task.stage, Domain.CLOUD, _EXPECTED)
            domain = task_preloading.domain(len(queues[Domain.HPC]), hpc, len(queues[Domain.CLOUD]), cloud)
        queues[domain][name] = None
        if self._executors(task.stage, domain, _EXPECTED):
            self._complete(name, domain)

    def made(self, names: Iterable[str]) -> None:
        """Record files that a task has written."""
        files, home = self._context.state.files, self._domains[0]
        found = [name for name in names if name in self._final and home not in files[name]]
        self._away.update(found)
        self._new += found

    def copied(self, name: str, domain: Domain, again: float | None) -> None:
        """Record that a copy has ended; a failed copy is repeated at the time ``again``.

        Args:
            name: the file's name.
            domain: the domain.
            again: the time of the next try, seconds since the epoch; None for a successful copy.
        """
        self._copying.discard((name, domain))
        if again is not None:
            self._copy_again[name, domain] = again
        elif domain is self._domains[0]:
            self._away.discard(name)

    def dispatch(self, now: float) -> None:
        """Give tasks to idle executors, the cheaper side first where both are idle."""
        if not any(queue for queues in self._queues.values() for queue in queues.values()):
            return
        idle = [one for one in self._context.state.executors.values() if self._idle(one, now)]
        for executor in sorted(idle, key=lambda one: one.asked.hourly):
            if not self._give(executor, now):
                self._move(executor, now)

    def bring_home(self, now: float) -> bool:
        """Have results that no task reads copied to the cluster's side; return whether all are there."""
        for (name, domain), again in list(self._copy_again.items()):
            if not again - self._context.limits.again <= now < again:  # the clock may have been set back
                del self._copy_again[name, domain]
                self._copy(name, domain)
        while self._new:
            self._copy(self._new.pop(), self._domains[0])
        return not self._away

    def send(self, executor: Executor) -> None:
        """Request that an executor gets the message with its task; the message may be sent twice."""
        state, limits = self._context.state, self._context.limits
        progress = state.tasks[executor.task]
        task = progress.task
        inputs = tuple(
            Made(name=file.name, digest=places[executor.domain], executable=file.executable)
            for file in task.inputs
            if (places := state.files.get(file.name)) is not None and executor.domain in places
        )
        assignment = Assignment(
            number=executor.number,
            task=task.name,
            attempt=progress.attempt,
            stage=task.stage,
            workflow=state.workflow.name,
            command=task.command,
            script=task.script,
            directory=task.directory,
            inputs=inputs,
            outputs=tuple(file.name for file in task.outputs),
            rules=limits.rules,
        )
        self._context.commands.append(Send(executor.id, executor.domain, assignment))

    def _executors(self, stage: str, domain: Domain, states: tuple[ExecutorState, ...] = _UP) -> int:
        return sum(
            executor.stage == stage and executor.domain is domain and executor.state in states
            for executor in self._context.state.executors.values()
        )

    def _idle(self, executor: Executor, now: float) -> bool:
        return executor.state is ExecutorState.UP and not executor.task and now < executor.ends

    def _table(self, stage: str) -> StageTable | None:
        scaler = self._context.state.scaler
        return next((one for one in scaler.tables if one.stage == stage), None) if scaler else None

    def _seconds(self, stage: str, domain: Domain) -> float | None:
        """Return the seconds of a stage's task on a side; None where the task cannot run there."""
        table = self._table(stage)
        if table is None:
            return 0.0
        return table.hpc if domain is Domain.HPC else table.cloud

    def _able(self, executor: Executor, stage: str) -> bool:
        """Return whether an executor can run the tasks of a stage other than its own."""
        table = self._table(stage)
        if table is None or self._seconds(stage, executor.domain) is None:
            return False
        if executor.domain is Domain.HPC or executor.asked.platform == table.platform:
            return True
        kind = self._platforms.get(executor.asked.platform)
        return not self._context.limits.strict and kind is not None and kind.takes(self._processors[stage])

    def _fits(self, executor: Executor, stage: str, now: float) -> bool:
        """Return whether a stage's task is expected to end before the executor's time is over."""
        table, seconds = self._table(stage), self._seconds(stage, executor.domain)
        if executor.domain is Domain.CLOUD or seconds is None or table is None or not table.whole:
            # A cloud executor may finish its task after its hour. An interruptible task continues elsewhere.
            return True
        if not executor.number and table.cloud is None and SLACK * seconds >= executor.asked.seconds:
            # No request is long enough and no cloud takes the task, so this executor tries it.
            return True
        return now + SLACK * seconds < executor.ends

    def _give(self, executor: Executor, now: float) -> bool:
        """Give an executor a task of its stage; return whether it has a task or waits for one's data."""
        stage, domain = executor.stage, executor.domain
        if not self._fits(executor, stage, now):
            return True  # the executor's time is nearly over, so the task waits for another executor
        own = self._queues[stage][domain]
        for name in list(islice(own, 64)):
            if self._complete(name, domain):
                self._assign(executor, name, now)
                return True
        if own:
            return True
        other = Domain.CLOUD if domain is Domain.HPC else Domain.HPC
        theirs = self._queues[stage][other]
        if task_preloading.may_take_over(len(theirs), self._executors(stage, other)):
            name = next(reversed(theirs))
            del theirs[name]
            own[name] = None
            if self._complete(name, domain):
                self._assign(executor, name, now)
            return True
        return False

    def _move(self, executor: Executor, now: float) -> None:
        """Move an executor whose stage has no tasks left to the next stage with too few executors."""
        state = self._context.state
        place = next(one for one in state.workflow.stages if one.name == executor.stage)
        if self.waiting(executor.stage) or state.done[executor.stage] < place.tasks:
            return
        for stage in state.workflow.stages:
            mine = [one for one in state.executors.values() if one.stage == stage.name and one.alive]
            if not self._able(executor, stage.name):
                continue
            if self.waiting(stage.name) > sum(not one.task for one in mine if one.state in _EXPECTED):
                self._context.write(r.ExecutorMoved(id=executor.id, stage=stage.name), now)
                self._give(executor, now)
                return

    def _assign(self, executor: Executor, name: str, now: float) -> None:
        progress = self._context.state.tasks[name]
        del self._queues[progress.task.stage][executor.domain][name]
        for domain in self._domains:
            self._missing.pop((name, domain), None)
        assigned = r.Assigned(
            task=name, executor=executor.id, number=executor.number + 1, attempt=progress.attempt + 1
        )
        self._context.write(assigned, now)
        self.send(executor)

    def _complete(self, name: str, domain: Domain) -> bool:
        """Return whether all inputs of a task lie in a domain; have missing ones copied there."""
        state = self._context.state
        missing = self._missing.get((name, domain))
        if missing is None:
            inputs = (file.name for file in state.tasks[name].task.inputs)
            missing = [one for one in inputs if one in state.files and domain not in state.files[one]]
            self._missing[name, domain] = missing
            for one in missing:
                self._copy(one, domain)
        # Files are never removed, so each of possibly very many inputs is looked for only until it is found.
        while missing and domain in state.files[missing[-1]]:
            missing.pop()
        return not missing

    def _copy(self, name: str, domain: Domain) -> None:
        if (name, domain) in self._copying or (name, domain) in self._copy_again:
            return
        self._copying.add((name, domain))
        expected = next(iter(self._context.state.files[name].values()))
        self._context.commands.append(Copy(name, domain, expected))
