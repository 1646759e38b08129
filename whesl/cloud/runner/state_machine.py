"""The runner's decisions: events in, records and commands out; no clock, file or socket.

Records are written before the commands that come with them are carried out. After a restart ``resume``
returns the commands that may not have been carried out; each command may be repeated.
"""

from __future__ import annotations

from dataclasses import replace

from whesl.cloud.core.plan_records import Domain
from whesl.cloud.core.scaler_events import ScalerState
from whesl.cloud.runner import messages
from whesl.cloud.runner import run_records as r
from whesl.cloud.runner.assigning import Queues
from whesl.cloud.runner.events_and_commands import (
    Command,
    Copied,
    Event,
    Forget,
    Heard,
    Limits,
    Looked,
    Refused,
    Seen,
    Start,
)
from whesl.cloud.runner.messages import ExecutorReport
from whesl.cloud.runner.run_records import ExecutorState
from whesl.cloud.runner.scaling import Scaling
from whesl.cloud.runner.state import Executor, RunState, RunView
from whesl.cloud.runner.transition_context import Context

ESCALATED = 75  # exit status of ``whesl exec`` that asks for another run of the job
Outcome = tuple[list[r.Record], list[Command]]


class Core:
    """Decides for one run.

    Args:
        state: the run as its journal tells it.
        limits: what it may do.
        initial: the scaler's first state, for a run that has none yet.
        domains: the run's domains; results are brought to the first one.
    """

    def __init__(
        self, state: RunState, limits: Limits, initial: ScalerState, domains: tuple[Domain, ...]
    ) -> None:
        self.state = state
        self._context = Context(state, limits)
        self._limits = limits
        self._queues = Queues(self._context, domains)
        self._scaling = Scaling(self._context, self._queues, initial)
        self._fates: dict[str, float] = {}  # disappearance times of executors that had a task, by executor
        self._why = ""

    def resume(self, now: float, stop: str = "") -> Outcome:
        """Return the commands that the run's last owner may have left undone. Called once, before ``step``.

        Args:
            now: seconds since the epoch.
            stop: reason to end the run; '' to continue it. Nothing is started for a run that ends.
        """
        self._why = stop
        for executor in self.state.executors.values():
            if executor.state is ExecutorState.GONE and executor.task:
                self._fates[executor.id] = now
            if stop:
                continue
            if executor.state is ExecutorState.ASKED:
                self._context.commands.append(Start(executor.asked, again=True))
            if executor.alive and executor.task:
                self._queues.send(executor)
        for progress in self.state.tasks.values():
            if not (progress.missing or progress.done or progress.executor or progress.final):
                self._context.ready.append(progress.task.name)
        return self._close(now)

    def step(self, event: Event, now: float) -> Outcome:
        """Handle an event; return the records to write and then the commands to carry out.

        Args:
            event: the event.
            now: seconds since the epoch.
        """
        # The clock may have been set back.
        self._fates = {one: min(since, now) for one, since in self._fates.items()}
        if isinstance(event, Looked):
            for known_as, seen in event.seen.items():
                executor = self.state.executors.get(known_as)
                if executor is not None:
                    self._looked(executor, seen, now)
            self._never_shown(event, now)
        elif isinstance(event, Heard):
            self._heard(event, now)
        elif isinstance(event, Refused):
            executor = self.state.executors[event.id]
            if executor.state in (ExecutorState.ASKED, ExecutorState.ENDING) and not executor.handle:
                self._context.gone(executor, r.ExecutorRefused(id=event.id, why=event.why), now)
        elif isinstance(event, Copied):
            self._copied(event, now)
        return self._close(now)

    def trouble(self, what: str, why: str, now: float) -> Outcome:
        """Handle the report that something fails, or works again (``why`` empty).

        Args:
            what: the failing operation.
            why: the reason, '' where the operation works again.
            now: seconds since the epoch.
        """
        self._context.trouble(what, why, now)
        return self._context.taken()

    def stop(self, why: str, now: float) -> Outcome:
        """End the run, even if tasks remain.

        Args:
            why: the reason.
            now: seconds since the epoch.
        """
        self._why = why
        return self._close(now)

    def view(self) -> RunView:
        """Return a copy of the run's state for the threads that carry commands out."""
        executors = {one.id: replace(one) for one in self.state.executors.values()}
        return RunView(executors, self.state.refusal, cloud_instead=self._limits.cloud_instead)

    @property
    def over(self) -> bool:
        """Whether the run has ended."""
        return self.state.ended is not None

    def _looked(self, executor: Executor, seen: Seen, now: float) -> None:
        if not executor.alive:
            return
        if seen.state is ExecutorState.GONE:
            if executor.task:
                self._fates[executor.id] = now
            gone = r.ExecutorSeen(id=executor.id, state=seen.state, handle=seen.handle, why=seen.why)
            self._context.gone(executor, gone, now)
        elif executor.state is ExecutorState.ASKED:
            waiting = r.ExecutorSeen(id=executor.id, state=ExecutorState.WAITING, handle=seen.handle)
            self._context.write(waiting, now)
        elif seen.revoked and executor.state in (ExecutorState.UP, ExecutorState.WAITING):
            revoked = r.ExecutorSeen(
                id=executor.id, state=ExecutorState.STOPPING, why="it is taken away soon"
            )
            self._context.write(revoked, now)
        elif executor.state is ExecutorState.ENDING:
            self._context.end(executor, "", now)

    def _never_shown(self, event: Looked, now: float) -> None:
        """Count executors as gone that were told to end before their start's answer and never appear.

        It is unknown whether such a start was carried out, and a repeated start could cost twice.
        """
        for executor in self.state.executors.values():
            if executor.domain is not event.domain or executor.id in event.seen:
                continue
            if executor.state is ExecutorState.ENDING and not executor.handle:
                executor.ending = min(executor.ending, now)  # the clock may have been set back
                if event.began > executor.ending + self._limits.unseen:
                    why = f"not shown for {self._limits.unseen:.0f} s after it was to end: never started"
                    self._context.gone(executor, r.ExecutorRefused(id=executor.id, why=why), now)

    def _heard(self, event: Heard, now: float) -> None:
        for said in event.said:
            executor = self.state.executors.get(said.executor)
            if executor is None or executor.domain is not event.domain:
                continue
            if not said.number:
                if executor.state in (ExecutorState.ASKED, ExecutorState.WAITING):
                    up = r.ExecutorSeen(id=executor.id, state=ExecutorState.UP, why=said.host)
                    self._context.write(up, now)
            else:
                self._ended(executor, said, now)
        if event.said:
            names = tuple(messages.reply(said.executor, said.number) for said in event.said)
            self._context.commands.append(Forget(event.domain, names))
        for known_as, since in list(self._fates.items()):
            executor = self.state.executors[known_as]
            # This look began after the executor disappeared, so all its messages have been read.
            if executor.domain is event.domain and since < event.began <= now:
                del self._fates[known_as]
                if executor.task:
                    self._lost(executor, executor.why or "its executor is gone", now)

    def _ended(self, executor: Executor, said: ExecutorReport, now: float) -> None:
        progress = self.state.tasks.get(said.task)
        if progress is None or progress.done or progress.executor != executor.id:
            return
        if said.attempt != progress.attempt:
            return
        if said.status is None or said.status == ESCALATED:
            self._lost(executor, said.why or "its executor's time was over", now)
        elif said.status:
            final = progress.failed >= self._limits.retries
            failed = r.TaskFailed(
                task=said.task,
                executor=executor.id,
                attempt=said.attempt,
                status=said.status,
                why=said.why,
                final=final,
            )
            self._context.write(failed, now)
            if not final:
                self._context.ready.append(said.task)
        else:
            done = r.TaskDone(
                task=said.task,
                executor=executor.id,
                attempt=said.attempt,
                seconds=said.seconds,
                outputs=said.outputs,
            )
            self._context.write(done, now)
            self._queues.made(made.name for made in said.outputs)
            self._scaling.measured(progress.task.stage, executor.domain, said.seconds)

    def _lost(self, executor: Executor, why: str, now: float) -> None:
        name = executor.task
        progress = self.state.tasks[name]
        lost = r.TaskLost(task=name, executor=executor.id, attempt=progress.attempt, why=why)
        self._context.write(lost, now)
        if progress.lost > self._limits.losses:
            failed = r.TaskFailed(
                task=name,
                executor=executor.id,
                attempt=progress.attempt,
                status=1,
                why=f"it was lost {progress.lost} times",
                final=True,
            )
            self._context.write(failed, now)
        else:
            self._context.ready.append(name)

    def _copied(self, event: Copied, now: float) -> None:
        what = f"copies to the {event.domain.value} side"
        if event.digest is None:
            self._queues.copied(event.name, event.domain, now + self._limits.again)
            self._context.trouble(what, event.why, now)
            return
        self._queues.copied(event.name, event.domain, None)
        copied = r.FileCopied(
            name=event.name, domain=event.domain, digest=event.digest, seconds=event.seconds
        )
        self._context.write(copied, now)
        self._context.trouble(what, "", now)

    def _close(self, now: float) -> Outcome:
        """After each event: assign tasks to executors, and start and end executors."""
        if self.over:
            return self._context.taken()
        if not self._why and self._limits.stop is not None and now >= self._limits.stop:
            self._why = "its time is over"
        while self._context.ready and not self._why:
            self._queues.put(self._context.ready.pop())
        if self._why:
            self._end_all(now)
        elif self._unfinished():
            self._scaling.intervals(now)
            self._queues.dispatch(now)
            self._end_idle(now)
            self._queues.bring_home(now)
        elif self._queues.bring_home(now):
            self._end_all(now)
        return self._context.taken()

    def _unfinished(self) -> bool:
        """Return whether some task can still be done."""
        if any(executor.task for executor in self.state.executors.values()):
            return True
        if sum(self.state.done.values()) == len(self.state.tasks):
            return False
        failed = any(progress.final for progress in self.state.tasks.values())
        if not failed:
            return True
        return any(
            not (progress.missing or progress.done or progress.final)
            for progress in self.state.tasks.values()
        )

    def _end_idle(self, now: float) -> None:
        """End executors without a task that are stopping or whose paid time is over."""
        for executor in self.state.executors.values():
            over = executor.over and now >= executor.over
            if executor.state is ExecutorState.STOPPING and not executor.task:
                self._context.end(executor, executor.why, now)
            elif executor.state is ExecutorState.UP and not executor.task and executor.asked.hourly and over:
                self._context.end(executor, "its time is over", now)

    def _end_all(self, now: float) -> None:
        alive = [executor for executor in self.state.executors.values() if executor.alive]
        for executor in alive:
            self._context.end(executor, "the workflow is over", now)
        if not alive:
            missing = len(self.state.tasks) - sum(self.state.done.values())
            failed = [name for name, progress in self.state.tasks.items() if progress.final]
            why = f"{missing} tasks are not done" if missing else ""
            why += f"; failed: {', '.join(failed[:5])}" if failed else ""
            why = self._why or why
            self._context.write(r.RunEnded(complete=not missing, why=why), now)
