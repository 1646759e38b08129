"""The isolator's event loop: it turns occurrences into events, and executes the core's commands.

One thread waits here; calls that may take long run in the worker. Each action is written to the journal
before it is carried out.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from whesl.managers.resource import forbid_requeue
from whesl.managers.resource.lost_node_release import Release
from whesl.managers.resource.port import Allocation
from whesl.model.errors import WheslError
from whesl.model.event_loop_stall import Stoppage
from whesl.model.evidence import Detected
from whesl.runtime.isolator import resume, shutdown
from whesl.runtime.isolator.coordinator_link import CoordinatorLink
from whesl.runtime.isolator.core import state_machine
from whesl.runtime.isolator.core.events_and_commands import (
    AdoptAttempt,
    AttemptExited,
    AttemptNotStarted,
    ClaimNodes,
    CollectEvidence,
    Command,
    Detections,
    Event,
    Finish,
    ForbidRequeue,
    JobEnded,
    JobExceptionSeen,
    Journal,
    KillAttempt,
    NodeSeen,
    ProbeProgram,
    RaiseJobException,
    Reached,
    ReadConfiguration,
    RunStep,
    Say,
    Schedule,
    Send,
    SignalAttempt,
    Signalled,
    StartAttempt,
    Started,
    Tick,
    WriteReconfigure,
)
from whesl.runtime.isolator.core.recovery import recovery_decision
from whesl.runtime.isolator.core.state import Phase
from whesl.runtime.isolator.effects.program_checkpoints import COMMANDS, Checkpoints
from whesl.runtime.isolator.effects.task_recovery_steps import Steps
from whesl.runtime.isolator.event_loop_sources import Descriptors, Signals
from whesl.runtime.isolator.launch.attempt import UNKNOWN_EXIT, Attempt
from whesl.runtime.isolator.launch.attempt_starter import Starter
from whesl.runtime.isolator.launch.signal_delivery import ENDING
from whesl.runtime.isolator.nodes.node_fencing import Nodes
from whesl.runtime.isolator.observe.failure_cause_and_attempt_end import AttemptEnd
from whesl.runtime.isolator.observe.held_failures import HeldFailures
from whesl.runtime.isolator.observe.held_hangs import HeldHangs
from whesl.runtime.isolator.observe.manager_events import ManagerEvents, matter
from whesl.runtime.isolator.observe.no_match_fast_path import Skimming
from whesl.runtime.isolator.observe.observer import Observer
from whesl.runtime.isolator.task import disk_reserve, journal_in_memory, lock_lost, paused_terminal_notice
from whesl.runtime.isolator.task.journal_writer import Records
from whesl.runtime.isolator.task.raise_requests import Left
from whesl.runtime.isolator.task.taskdir import Job, TaskDir
from whesl.runtime.journal.records.isolator_records import AnyRecord, JournalTroubled, TimeStopped
from whesl.runtime.journal.steady_clock import Clock
from whesl.runtime.locking import job_leader_identity
from whesl.runtime.locking.procfs import Watched
from whesl.runtime.locking.takeover_watch import Guard
from whesl.runtime.node_agent.fencing import attempt_processes, attempt_signals
from whesl.runtime.wire.blocking_call_worker import Worker

if TYPE_CHECKING:
    from whesl.runtime.wire.client import CoordinatorClient

LOG = logging.getLogger(__name__)
# Seconds that the keeper may take to load after the isolator; a cancelled task may have ended by then.
KEEPER_LOADS = 2.0
SNAPSHOT_EVERY = 1.0
LONGEST_WAIT = 30.0
# Seconds within which a runner becomes the task's command.
SETTLED = 0.2
# Seconds between two looks for the end of a runner without a descriptor, and for reports that explain an end.
LOOK_AGAIN = 0.02
# Events before which the core is told the attempt's progress.
_AFTER_REACHED = (AttemptExited, Detections, JobExceptionSeen, NodeSeen, Tick)
# Limit in seconds for closing files, which a dead file system may delay.
LETTING_GO = 1.0


class Daemon:
    """The isolator of one task.

    Args:
        directory: the task's directory, whose lock the caller holds.
        job: the task to run.
        allocation: the allocation of the resource manager.
        client: the connection to the coordinator; None to run without a coordinator.
        lock: watches whether another isolator has taken over the task's lock; None for no watch.
        keeper: the process number of the keeper that has started this process; 0 for none.
    """

    def __init__(
        self,
        directory: TaskDir,
        job: Job,
        allocation: Allocation,
        client: CoordinatorClient | None,
        lock: Guard | None = None,
        keeper: int = 0,
    ):
        self._lock = lock
        # A batch script's job ends with its keeper.
        self._keeper = Watched(keeper) if keeper and job.batch else None
        self._began = time.monotonic()
        self._signals = Signals()  # made before any thread exists
        self._directory = directory
        self._job = job
        self._allocation = allocation
        self._coordinator = CoordinatorLink(client, Left(directory))
        self._journal = journal_in_memory.opened(directory)
        self._records = Records(self._journal)
        self._told_trouble = ""
        self._clock = Clock()
        self._state = resume.state_of(self._journal, directory, job, self._clock)
        self._worker = Worker()
        self._asker = Worker()
        self._starter = Starter(directory, job, allocation)
        self._steps = Steps(directory, job, allocation, os.environ, self._clock)
        self._observer = Observer(directory, job, self._worker, self._clock)
        self._skimming = Skimming(self._observer)
        self._end_of_attempt = AttemptEnd(self._observer)
        recovery = self._state.recovery
        half_ended = self._state.attempt if recovery is not None and not recovery.fenced else 0
        self._descriptors = Descriptors()
        parts = (directory, job, allocation, self._worker, self._asker)
        self._nodes = Nodes(*parts, self._feed_nodes, half_ended, self._descriptors.register)
        listen = matter(job.setup)
        self._manager_events = ManagerEvents(
            allocation, self._asker, self._nodes.places.tell, self._nodes.hear, listen=listen
        )
        self._attempt: Attempt | None = None
        self._attempt_began = 0.0
        self._exit_seen = False
        self._unexplained = False  # the attempt has ended, and awaited reports may explain its end
        self._alarm: float | None = None
        self._snapshot_due = 0.0
        self._finish: Finish | None = None
        self._pending: deque[Event] = deque()
        self._checkpoints = Checkpoints(job.setup.task.id, self._asker.tell, self._feed, self._signal)
        self._stoppage = Stoppage(time.monotonic())
        self._held_hangs = HeldHangs(self._nodes.suspension, self._observer, self._collect)
        self._held_failures = HeldFailures(self._observer)

    def run(self) -> Finish:
        """Supervise the task until it is over."""
        own = (self._signals.fileno(), self._worker.fileno(), self._asker.fileno())
        kept = self._keeper.descriptors if self._keeper is not None else ()
        self._descriptors.register((*own, *kept, *self._nodes.sockets, *self._coordinator.sockets))
        if self._lock is not None:
            self._lock.watch(self._signals.wake)
        self._take_up()
        self._stoppage.waits(time.monotonic())
        while self._finish is None:
            self._iterate()
            self._notice_stop()
            self._wait()
            self._notice_stop()
        self._close()
        return self._finish

    # Events -----------------------------------------------------------------------------------

    def _take_up(self) -> None:
        """Tell the core at the start whether the journal's last attempt still runs."""
        state = self._state
        if state.attempt and state.claim == self._job.setup.claim and state.ended is None:
            self._attempt = Attempt.find(self._directory, state.attempt, state.token)
        self._feed(Started(alive=None if self._attempt is None else self._attempt.running))
        for lost in resume.lost_script_node(self._job, self._state):
            self._feed_nodes(lost)

    def _wait(self) -> None:
        now = time.monotonic()
        wall = self._clock()
        times = [now + LONGEST_WAIT]
        attempt = self._followed()
        looks = None if attempt is None else self._observer.next_deadline(wall)
        times += [time - wall + now for time in (self._alarm, looks) if time]
        held = (self._held_hangs.deadline, self._held_failures.deadline)
        deadlines = (self._nodes.next_deadline(now), self._manager_events.next_deadline(now), *held)
        times += [time for time in deadlines if time is not None]
        times.append(self._coordinator.next_deadline(now, paused=self._state.phase is Phase.PAUSED))
        if self._observer.changed:
            times.append(self._snapshot_due)
        present = () if attempt is None else (self._observer.fileno(), attempt.pidfd)
        self._descriptors.follow((self._manager_events.fileno(), *present))
        if self._unexplained or (attempt is not None and attempt.pidfd is None):
            times.append(now + LOOK_AGAIN)
        self._stoppage.waits(max(min(times), now))
        timeout = max(min(times) - now, 0.0)
        if self._pending or self._finish is not None:
            return
        ready = self._descriptors.ready(int(timeout * 1000) + 1 if timeout else 0)
        if ready and all(found == self._observer.fileno() for found in ready):
            self._skimming.run(self._descriptors.all(), min(times))

    def _notice_stop(self) -> None:
        """Extend all limits by the time in which this process did not run, or waited for a file system."""
        now = time.monotonic()
        if gap := self._stoppage.found(now):
            self._nodes.stopped(now)
            self._held_hangs.stopped(gap, now)
            self._feed(TimeStopped(seconds=gap))

    def _has_begun(self) -> bool:
        return bool(self._state.attempt)

    def _followed(self) -> Attempt | None:
        """Return the attempt whose output is followed; None after its end or when it is not judged."""
        over = self._exit_seen or self._unexplained or not self._state.judges_output
        return None if over else self._attempt

    def _iterate(self) -> None:
        if self._lock is not None and self._lock.lost:
            lock_lost.give_up(self._job.setup, self._attempt.pid if self._attempt else None)
        for call in (*self._worker.results(), *self._asker.results()):
            call()
        if self._keeper is not None and self._keeper.gone():
            self._end_with_keeper()
        for signum, alone in self._signals.taken():
            self._feed(Signalled(signum=signum, alone=alone))
        paused = self._state.phase is Phase.PAUSED
        for event in self._coordinator.heard(time.monotonic(), paused=paused, begun=self._has_begun):
            self._feed(event)
        self._nodes.poll(time.monotonic())
        self._manager_events.poll(time.monotonic())
        self._look()
        now = self._clock()
        if self._alarm is not None and now >= self._alarm:
            self._alarm = None
            self._feed(Tick())
        if self._observer.changed and time.monotonic() >= self._snapshot_due:
            self._observer.save()
            self._snapshot_due = time.monotonic() + SNAPSHOT_EVERY
        while self._pending and self._finish is None:
            self._feed(self._pending.popleft())

    def _end_with_keeper(self) -> None:
        """End the task with its job, since the end of the job may spare the task's processes."""
        assert self._keeper is not None
        for descriptor in self._keeper.descriptors:
            self._descriptors.unregister(descriptor)
        keeper, self._keeper = self._keeper.pid, None
        if self._job.batch != keeper and not job_leader_identity.over(self._job.batch):
            return  # the job's script lives, and may start another keeper
        attempt = self._attempt
        if attempt is not None:
            attempt_processes.end_at_once(self._state.token, attempt.pid)
        self._feed(JobEnded())

    def _look(self) -> None:
        """Read the task's new output; judge the attempt's end only after its last line was read."""
        if self._attempt is None or self._exit_seen:
            return
        number = self._attempt.number
        ended = not self._attempt.running
        code = self._attempt.exit_code() if ended else 0
        if code:
            self._unexplained = self._may_be_explained(number) or self._may_be_signalled(code)
        else:
            used = self._state.nodes.active
            self._unexplained = ended and self._nodes.may_be_lost(number, used, time.monotonic())
        if self._unexplained:
            return
        judges = self._state.judges_output and number == self._state.attempt
        if not self._end_of_attempt.seen:
            found: list[Detected] = []
            if judges:
                found = self._observer.drain() if ended else self._observer.poll()
                found = self._held_hangs.judge(found, number, ended=ended, now=time.monotonic())
                ends = ended and self._observer.drained
                found = self._held_failures.judge(found, ended=ends, now=time.monotonic())
            if not ended or (judges and not self._observer.drained):
                if found:
                    cause = self._held_failures.cause
                    self._feed(Detections(attempt=number, found=tuple(found), cause=cause))
                return
            observed = self._state.setup.observe
            self._end_of_attempt.take(number, code or 0, found, judged=judges, observed=observed)
        event = self._end_of_attempt.event(judged=judges)
        self._unexplained = event is None
        if event is not None:
            self._exit_seen = True
            self._feed(event)

    def _may_be_explained(self, number: int) -> bool:
        """Whether an attempt's failure waits, for a limited time, for reports that explain it."""
        now = time.monotonic()
        explained = self._observer.hears_job_exceptions and self._manager_events.may_tell_more(number, now)
        return self._nodes.may_tell_more(number, self._state.nodes.active, now) or explained

    def _may_be_signalled(self, code: int) -> bool:
        """Whether a keeper that is still loading may pass on the signal that ended the attempt."""
        loading = time.monotonic() < self._began + KEEPER_LOADS
        return loading and code - 128 in ENDING and self._state.phase is not Phase.STOPPING

    def _feed_nodes(self, event: Event) -> None:
        """Feed a report on a node to the core, with the detections that follow from it."""
        self._feed(self._observer.with_detections(event))

    # Commands -----------------------------------------------------------------------------------

    def _feed(self, event: Event) -> None:
        if self._finish is not None:
            return
        if isinstance(event, _AFTER_REACHED) and self._state.phase is Phase.RUNNING:
            self._step_core(Reached(reach=self._observer.reached()))
        self._step_core(event)
        self._observer.settle(recovery_decision.settled(self._state))

    def _step_core(self, event: Event) -> None:
        now = self._clock()
        before = self._state.phase
        self._state, commands = state_machine.step(self._state, event, now)
        self._write([command.record for command in commands if isinstance(command, Journal)], now)
        if Phase.PAUSED in (before, self._state.phase) and before is not self._state.phase:
            paused_terminal_notice.tell(self._directory, self._state)
        for command in commands:
            if not isinstance(command, Journal):
                _PERFORM[type(command)](self, command)

    def _write(self, records: list[AnyRecord], now: float) -> None:
        """Write records to the journal before anything else is done; on a full disk, retry soon.

        Raises LockLostError when another isolator has taken the task over.
        """
        if self._lock is not None and records and self._lock.look():
            lock_lost.give_up(self._job.setup, self._attempt.pid if self._attempt else None)
        if not self._records.write(records, now):
            self._alarm = min(self._alarm or now + 1.0, now + 1.0)
        if self._records.trouble != self._told_trouble:
            self._told_trouble = self._records.trouble
            self._pending.append(JournalTroubled(trouble=self._told_trouble))

    def _start(self, command: StartAttempt) -> None:
        def then(result: Attempt | str) -> None:
            if isinstance(result, str):
                self._pending.append(AttemptNotStarted(attempt=command.attempt, reason=result))
                return
            self._take(result)
            self._snapshot_due = time.monotonic() + SNAPSHOT_EVERY
            self._feed(self._starter.seen(result))
            disk_reserve.hold(self._directory.path)
            self._watch_attempt(command)

        try:
            self._starter.choose_outputs(command)
            self._observer.prepare(command.attempt, command.configuration)
        except (WheslError, OSError) as error:
            self._pending.append(AttemptNotStarted(attempt=command.attempt, reason=str(error)))
            return
        if self._starter.may_take_long(command):
            self._worker.submit(lambda: self._starter.start(command), then)
        else:
            then(self._starter.start(command))

    def _watch_attempt(self, command: StartAttempt) -> None:
        try:
            self._observer.watch(command.configuration, self._state.attempt_started)
        except WheslError as error:
            LOG.error("attempt %d goes on unwatched: %s", command.attempt, error)

    def _take(self, attempt: Attempt) -> None:
        if self._attempt is not None:
            self._descriptors.forget(self._attempt.pidfd)
            self._attempt.close()
        self._attempt, self._attempt_began = attempt, time.monotonic()
        self._exit_seen = self._unexplained = False
        self._held_failures.drop()

    def _adopt(self, command: AdoptAttempt) -> None:
        lost = self._attempt is None or self._attempt.number != command.attempt
        if not lost or self._job.moved_from:  # a node's loss is judged by what watches the attempt
            self._exit_seen, state = False, self._state
            try:
                self._observer.take_up(command.attempt, state.configuration, state.attempt_started)
            except WheslError as error:
                LOG.error("attempt %d goes on unwatched: %s", command.attempt, error)
        if lost:
            self._pending.append(AttemptExited(attempt=command.attempt, code=UNKNOWN_EXIT, signal=9))
        elif self._attempt is not None and self._state.phase.value == "launching":
            self._pending.append(self._starter.seen(self._attempt))

    def _of(self, number: int) -> tuple[str, int | None]:
        """Return an attempt's token, and the process number of its runner where the number is known."""
        attempt = self._attempt
        pid = attempt.pid if attempt is not None and attempt.number == number else 0
        return self._state.token, pid or None

    def _signal(self, command: SignalAttempt) -> None:
        attempt, token = self._attempt, self._state.token
        if attempt is None or attempt.number != command.attempt or not attempt.pid:
            return
        if time.monotonic() < self._attempt_began + SETTLED:
            attempt.settle(SETTLED)

        def send() -> int | None:
            own = (token, attempt.pid, command.signum)
            return attempt_signals.signal_catching(*own) if attempt.running else None

        self._nodes.signal(command, token, send)

    def _step(self, command: RunStep) -> None:
        state = self._state
        if state.recovery is not None and state.recovery.ordinal == command.ordinal:
            self._worker.submit(lambda: self._steps.run(state, command.index), self._feed)

    def _collect(self, command: CollectEvidence) -> None:
        self._nodes.collect(command, *self._of(command.attempt))

    def _read_configuration(self, command: ReadConfiguration) -> None:
        from whesl.runtime.isolator.offline_configuration import (
            read_configuration,  # imported here since only few tasks need it
        )

        self._asker.submit(lambda: read_configuration(command.register), self._feed)

    def _schedule(self, command: Schedule) -> None:
        self._alarm = command.time if self._alarm is None else min(self._alarm, command.time)

    def _end(self, command: Finish) -> None:
        self._finish = command

    def _close(self) -> None:
        """Close journal and connections: unacknowledged messages are resent for a short while, then left.

        The result is written last: an isolator killed before that is restarted, and repeats the steps.
        """
        finish = self._finish
        assert finish is not None
        if self._lock is not None:
            self._lock.close()
        if self._records.waiting:
            self._write([], self._clock())
        # Closing an inotify takes some milliseconds, during which the journal's last fsync can run.
        letting_go = threading.Thread(target=self._observer.close, name="letting-go", daemon=True)
        letting_go.start()
        told = partial(resume.understood, self._journal)
        notes = shutdown.link_old_places(self._job, self._state, told, os.environ, self._clock)
        remark = shutdown.summarise(self._directory, self._job, self._allocation, self._state, told, notes)
        self._journal.close()
        self._manager_events.finish()
        self._nodes.close()
        given = self._nodes.lost if shutdown.may_give_back(finish, observe=self._job.setup.observe) else ()
        giving_back = Release(self._allocation, given, (self._job.setup.task.id, remark))
        self._coordinator.part()
        try:
            shutdown.leave_result(self._directory, self._job, self._state, finish, self._signals.end_within)
        finally:
            giving_back.wait()
            letting_go.join(LETTING_GO)
            self._worker.close()
            self._asker.close()


_PERFORM: dict[type[Command], Callable[[Daemon, Any], None]] = {
    StartAttempt: Daemon._start,
    AdoptAttempt: Daemon._adopt,
    KillAttempt: lambda daemon, command: daemon._nodes.fence(command, *daemon._of(command.attempt)),
    ProbeProgram: lambda daemon, command: daemon._nodes.probe(command.attempt, *daemon._of(command.attempt)),
    CollectEvidence: Daemon._collect,
    SignalAttempt: Daemon._signal,
    RaiseJobException: lambda daemon, command: daemon._manager_events.raise_on_job(command),
    **dict.fromkeys(COMMANDS, lambda daemon, command: daemon._checkpoints.perform(command)),
    RunStep: Daemon._step,
    Send: lambda daemon, command: daemon._coordinator.send(command.message),
    ClaimNodes: lambda daemon, command: daemon._worker.submit(
        lambda: daemon._steps.claim(command), daemon._feed
    ),
    ReadConfiguration: Daemon._read_configuration,
    ForbidRequeue: lambda daemon, _: forbid_requeue.take_over(daemon._allocation),
    WriteReconfigure: lambda daemon, command: daemon._starter.write_reconfigure(command.configuration),
    Say: lambda _, command: LOG.info("%s", command.text),
    Schedule: Daemon._schedule,
    Finish: Daemon._end,
}
