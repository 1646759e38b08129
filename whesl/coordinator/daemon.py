"""The coordinator's shell: one loop over sockets, workers and the clock; journal first, then act.

A step of the core is carried out in this order: its records are on disk, the state is the new one, the
message that caused it is acknowledged, its commands are performed. A kill between any two of these loses
nothing: what was written down is continued by the next start, what was not is sent again by its sender.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
import time
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import IO, Any

import msgspec
import zmq

from whesl.coordinator import core, descriptors, garbage, performing, views
from whesl.coordinator.events import (
    AllowRequeue,
    Arrived,
    AskRequeue,
    CancelJob,
    Command,
    Event,
    JobCancelled,
    JobSeen,
    LookAtJob,
    Requeue,
    RequeueAllowed,
    RequeueEnded,
    RunStep,
    Say,
    Send,
    Started,
    StepEnded,
    Stop,
    Tell,
    Tick,
)
from whesl.coordinator.events import Journal as WriteDown
from whesl.coordinator.figures import Figures
from whesl.coordinator.metrics import MetricsServer
from whesl.coordinator.ports import Ports
from whesl.coordinator.reopening import ORIGIN, reopen
from whesl.coordinator.snapshots import Kept
from whesl.coordinator.snapshotting import Snapshotter
from whesl.coordinator.state import Settings
from whesl.coordinator.telling import Untold
from whesl.coordinator.workers import Workers
from whesl.journal import Clock, Journal, JournalError, snapshot
from whesl.model.errors import WheslError
from whesl.wire.delivery import new_incarnation
from whesl.wire.endpoint import Endpoint, endpoint_file, reachable_addresses, read_endpoint, write_endpoint
from whesl.wire.keys import UserKeys, user_keys
from whesl.wire.messages import Heartbeat, Query, Register, Reply
from whesl.wire.server import CoordinatorServer, Delivery
from whesl.wire.sockets import BindError
from whesl.wire.spool import collect, put_aside
from whesl.workflows.submit import avoid

LOG = logging.getLogger(__name__)
_LONGEST_TICK = 1.0
_FAREWELL = 2.0
_BATCH = 256
_MOST_LOOKS = 500  # at jobs with one question: their ids are one argument of a command
_JOURNAL_RETRY = 1.0
# At most so many tasks are told a new configuration at once, one time after the other after so many seconds:
# 10,000 in two seconds, a third of a processor, while others are answered.
_SLICE = 25
_PACE = 0.005
# Room for some thousand records, when the journal's disk is full.
_RESERVE = 2 * 1024 * 1024


class Daemon:
    """One coordinator; its lock is held by the caller.

    Args:
        home: the WHESL home.
        ports: schedulers and workflow managers.
        settings: times and limits.
        bind: address to listen on, ``*`` for all.
        idle: seconds without a living task and without a message after which it ends; None: never.
        metrics: host and port to serve figures on; None: nowhere. Where it cannot, the log says so.
        log: takes what handlers print on standard error.

    Raises JournalError or BindError when it cannot start.
    """

    def __init__(
        self,
        home: Path,
        ports: Ports,
        *,
        settings: Settings = Settings(),  # noqa: B008 - frozen
        bind: str = "*",
        idle: float | None = None,
        metrics: tuple[str, int] | None = None,
        log: IO[Any] | int,
    ) -> None:
        self._home = home
        self._clock = Clock()
        self._ports = ports
        self._idle = idle
        self._log = log
        self._directory = home / "coordinator"
        journal = self._directory / "journal.db"
        after = max(map(snapshot.number, snapshot.found(self._directory)), default=0)
        self._journal = Journal(journal, reserve=_RESERVE, after=after)
        if self._journal.damage is not None:
            LOG.error("%s", self._journal.damage)
        self._incarnation = new_incarnation()
        keys = user_keys(home)
        # The port of the last start, if it is free: clients that still know it come back at once.
        earlier = read_endpoint(home)
        self._server = self._listen(bind, earlier.port if earlier else 0, keys)
        self._endpoint = Endpoint(
            host=socket.gethostname(),
            addresses=reachable_addresses(bind),
            port=self._server.port,
            public_key=keys.coordinator.public,
            pid=os.getpid(),
            incarnation=self._incarnation,
        )
        self._figures = Figures()
        begun, kept = reopen(self._journal, settings)
        self._state = kept.state
        self._server.restore(kept.inbox)
        self._figures.restore(kept.figures)
        self._snapshotter = Snapshotter(self._journal, begun)
        self._metrics = self._serve(metrics) if metrics is not None else None
        self._workers = Workers()
        self._looks: list[LookAtJob] = []
        self._untold = Untold()
        self._next_telling = 0.0
        self._events: deque[Event] = deque([Started()])
        self._stopping = False
        self._journal_failed = False
        self._trouble = ""  # what is wrong with the journal now, for people
        self._last_message = time.monotonic()
        self._most_connections = descriptors.raise_limit()
        self._full = False
        self._interval = min(_LONGEST_TICK, settings.heartbeat / 4)
        self._next_tick = 0.0
        self._signals, self._signalled = socket.socketpair()
        for end in (self._signals, self._signalled):
            end.setblocking(False)

    def run(self) -> None:
        """Serve until told to stop."""
        garbage.spare()
        write_endpoint(self._home, self._endpoint)
        own = {"pid": self._endpoint.pid, "host": self._endpoint.host}
        self._journal.append("coordinator-started", own, self._clock())
        avoid.publish(self._home, self._state.bad_nodes.values())
        LOG.info("listening on port %d, %d tasks known", self._server.port, len(self._state.tasks))
        if self._most_connections < descriptors.FEW:
            most = self._most_connections
            LOG.warning("at most %d isolators can be connected: %s", most, descriptors.advice(most))
        self._listen_for_signals()
        poller = zmq.Poller()
        for watched in (*self._server.sockets, self._workers.fileno(), self._signals.fileno()):
            poller.register(watched, zmq.POLLIN)
        while not self._stopping:
            poller.poll(max(1, int(self._wait() * 1000)))
            self._turn()
        self._close(poller)

    def stop(self) -> None:
        """End after the present turn."""
        self._stopping = True

    # The loop, step by step -----------------------------------------------------------------------------

    def _turn(self) -> None:
        self._hear_signals()
        self._events.extend(self._workers.results())
        if self._events:
            self._handle_events()
        self._hear()
        if time.monotonic() >= self._next_tick:
            self._next_tick = time.monotonic() + self._interval
            self._collect()
            self._take([(Tick(), None)])
            self._count_connections()
            self._publish()
            self._snapshotter.look(len(self._state.tasks), self._kept)
        self._server.tick()
        self._tell_some()
        self._rest()

    def _wait(self) -> float:
        if self._events:
            return _JOURNAL_RETRY if self._journal_failed else 0.0
        next_turn = min(self._next_tick, self._next_telling) if self._untold else self._next_tick
        wait = next_turn - time.monotonic()
        retry = self._server.next_deadline()
        if retry is not None:
            wait = min(wait, retry - time.monotonic())
        return max(wait, 0.0)

    def _hear_signals(self) -> None:
        with contextlib.suppress(BlockingIOError):
            if self._signals.recv(64):
                LOG.info("told to end by a signal")
                self.stop()

    def _handle_events(self) -> None:
        """Take in what workers found out; what cannot be written down yet stays in line."""
        waiting = [(event, None) for event in self._events]
        if self._take(waiting):
            for _ in waiting:
                self._events.popleft()

    def _hear(self) -> None:
        heard: list[tuple[Event, Delivery | None]] = []
        deliveries = self._server.receive()
        if any(isinstance(delivery.message, Register) for delivery in deliveries):
            # What is left by now concerns whoever starts now: an ancestor may have ended out of reach.
            self._collect()
        for delivery in deliveries:
            self._last_message = time.monotonic()
            if isinstance(delivery.message, Query):
                self._server.settle(delivery)
                self._server.send(delivery.peer, self._answer(delivery.message))
            else:
                heard.append((Arrived(peer=delivery.peer, message=delivery.message), delivery))
        for first in range(0, len(heard), _BATCH):
            # What is not written down is not acknowledged: its sender says it again.
            self._take(heard[first : first + _BATCH])

    def _collect(self) -> None:
        """Take in what isolators have left that ended while this coordinator was out of their reach."""
        try:
            found, unreadable = collect(self._home)
        except OSError as error:
            LOG.error("what isolators may have left could not be looked at: %s", error)
            return
        for path in unreadable:
            with contextlib.suppress(OSError):
                LOG.error("what was left could not be understood, see %s", put_aside(path))
        for left in found:
            new: list[tuple[Event, Delivery | None]] = [
                (Arrived(peer=delivery.peer, message=delivery.message), delivery)
                for delivery in self._server.take_in(left.envelopes)
            ]
            if not all(self._take(new[first : first + _BATCH]) for first in range(0, len(new), _BATCH)):
                return
            if new:
                LOG.info("%s had left %d messages, %d of them new", left.peer, len(left.envelopes), len(new))
            self._server.forget(left.peer)
            with contextlib.suppress(OSError):
                left.path.unlink()

    def _take(self, events: Sequence[tuple[Event, Delivery | None]]) -> bool:
        """Take events in, all or none; False when they could not be written down: nothing has happened then.

        Their records share one write: a thousand isolators that register at once wait for one fsync, not
        for a thousand.
        """
        now = self._clock()
        state = self._state
        records: list[tuple[str, dict[str, Any]]] = []
        commands: list[Command] = []
        for event, delivery in events:
            state, more = core.step(state, event, now)
            own = [(command.kind, command.data) for command in more if isinstance(command, WriteDown)]
            if own and delivery is not None and delivery.origin is not None:
                own[0] = (own[0][0], {**own[0][1], ORIGIN: delivery.origin})
            records += own
            commands += [command for command in more if not isinstance(command, WriteDown)]
        if records and not self._written(records, now):
            return False
        changed = state.bad_nodes is not self._state.bad_nodes
        self._state = state
        if changed:
            avoid.publish(self._home, state.bad_nodes.values())
        for kind, data in records:
            self._figures.take(kind, data)
        for _, delivery in events:
            if delivery is not None:
                self._figures.heartbeats += isinstance(delivery.message, Heartbeat)
                self._server.settle(delivery)
        for command in commands:
            _PERFORM[type(command)](self, command)
        self._look_at_jobs()
        return True

    def _written(self, records: list[tuple[str, dict[str, Any]]], now: float) -> bool:
        try:
            self._journal.append_many(records, now)
        except JournalError as error:
            if not self._journal_failed:
                LOG.error("%s; nothing is decided until it can be written", error)
            self._journal_failed = True
            self._trouble = f"{error.message}; nothing is decided until it can be written"
            return False
        tight = f"the disk of the journal {self._journal.path} is full; its reserve is used"
        if self._journal.tight and self._trouble != tight:
            LOG.error("%s", tight)
        self._journal_failed = False
        self._trouble = tight if self._journal.tight else ""
        return True

    def _rest(self) -> None:
        """End when nobody has needed the coordinator for as long as was asked for."""
        if self._idle is None or time.monotonic() - self._last_message < self._idle:
            return
        if not self._state.live:
            LOG.info("idle for %g s: ending", self._idle)
            self.stop()

    # Commands -------------------------------------------------------------------------------------------

    def _send(self, command: Send) -> None:
        earlier = self._untold.before(self._state, command.peer)
        if earlier is not None:
            self._server.send(earlier.peer, earlier.message)
        self._server.send(command.peer, command.message)

    def _tell(self, command: Tell) -> None:
        self._untold.add(self._state, command)

    def _tell_some(self) -> None:
        """Tell the next of those whose configuration has changed; first came what somebody waits for."""
        if self._untold and time.monotonic() >= self._next_telling:
            for send in self._untold.take(self._state, _SLICE):
                self._server.send(send.peer, send.message)
            self._next_telling = time.monotonic() + _PACE

    def _run_step(self, command: RunStep) -> None:
        state, ports, log = self._state, self._ports, self._log
        self._workers.submit(
            lambda: performing.perform(state, command.recovery, command.index, ports, log),
            lambda why: StepEnded(recovery=command.recovery, index=command.index, outcome="fail", note=why),
        )

    def _look(self, command: LookAtJob) -> None:
        self._looks.append(command)

    def _look_at_jobs(self) -> None:
        """Ask for all jobs of a cluster together: a network that was away makes thousands of tasks silent."""
        clusters: dict[tuple[str, tuple[tuple[str, str], ...]], list[LookAtJob]] = {}
        for look in self._looks:
            where = self._state.environment_of(look.task)
            clusters.setdefault((look.rjms, tuple(sorted(where.items()))), []).append(look)
        self._looks.clear()
        for (rjms, environment), looks in clusters.items():
            for first in range(0, len(looks), _MOST_LOOKS):
                some = tuple(looks[first : first + _MOST_LOOKS])
                self._workers.submit(
                    partial(performing.look_at_jobs, self._ports, rjms, some, dict(environment)),
                    partial(_unseen, some),
                )

    def _ask_requeue(self, command: AskRequeue) -> None:
        where = self._cluster_of(command.token)
        self._workers.submit(
            lambda: performing.ask_requeue(self._ports, command.token, command.rjms, command.job_id, where),
            lambda why: RequeueEnded(token=command.token, outcome="refused", reason=why),
        )

    def _requeue(self, command: Requeue) -> None:
        where = self._cluster_of(command.token)
        self._workers.submit(
            lambda: performing.requeue(
                self._ports,
                command.token,
                command.rjms,
                command.job_id,
                command.restarts,
                command.exclude,
                where,
            ),
            lambda why: RequeueEnded(token=command.token, outcome="refused", reason=why),
        )

    def _cluster_of(self, token: str) -> dict[str, str]:
        return self._state.environment_of(self._state.requeues[token].task)

    def _allow_requeue(self, command: AllowRequeue) -> None:
        task, job_id = command.task, command.job_id
        where = self._state.environment_of(task)
        self._workers.submit(
            lambda: performing.allow_requeue(
                self._ports, task, command.rjms, job_id, where, allowed=command.allowed
            ),
            lambda why: RequeueAllowed(task=task, allowed=command.allowed, outcome="refused", reason=why),
        )

    def _cancel_job(self, command: CancelJob) -> None:
        task, job_id = command.task, command.job_id
        where = self._state.environment_of(task)
        self._workers.submit(
            lambda: performing.cancel_job(self._ports, task, command.rjms, job_id, where),
            lambda why: JobCancelled(task=task, job_id=job_id, outcome="refused", reason=why),
        )

    def _say(self, command: Say) -> None:
        LOG.info("%s", command.text)

    def _stop(self, _command: Stop) -> None:
        self.stop()

    # Beside the loop ------------------------------------------------------------------------------------

    def _listen(self, bind: str, port: int, keys: UserKeys) -> CoordinatorServer:
        try:
            return CoordinatorServer(bind, port, keys, self._incarnation)
        except BindError:
            if not port:
                raise
            return CoordinatorServer(bind, 0, keys, self._incarnation)

    def _kept(self) -> Kept:
        """Return what all that is in the journal amounts to."""
        return Kept(state=self._state.durable(), inbox=self._server.memory(), figures=self._figures.memory())

    def _answer(self, query: Query) -> Reply:
        if query.what == "status":
            body = views.status_view(self._state, query.workflow)
        elif query.what == "nodes":
            body = views.nodes_view(self._state, self._clock())
        elif query.what == "health":
            body = views.health_view(self._state, dict(self._server.counters), self._server.waiting())
            body.update(pid=self._endpoint.pid, host=self._endpoint.host, port=self._endpoint.port)
            body.update(metrics=self._metrics.where if self._metrics is not None else "")
            body.update(journal=self._trouble or self._snapshotter.trouble)
        else:
            return Reply(ok=False, error=f"there is no query {query.what!r}")
        return Reply(ok=True, body=msgspec.json.encode(body))

    def _serve(self, where: tuple[str, int]) -> MetricsServer | None:
        """Serve figures. Recoveries matter more: a port that is taken keeps no coordinator from starting."""
        try:
            server = MetricsServer(*where, self._directory / "journal.db")
        except WheslError as error:
            LOG.error("%s", error)
            return None
        LOG.info("metrics on http://%s/metrics", server.where)
        return server

    def _count_connections(self) -> None:
        """Say so when no more isolators can be connected: those go on alone, and nothing is known of them."""
        connections, most = self._server.connections(), self._most_connections
        if connections >= most and not self._full:
            LOG.error("%d connections, no more are possible: %s", connections, descriptors.advice(most))
        self._full = connections >= most

    def _publish(self) -> None:
        if self._metrics is not None:
            snapshot = self._figures.snapshot(
                self._state,
                connected=self._server.connected(),
                waiting=self._server.waiting(),
                counters=self._server.counters,
                now=self._clock(),
            )
            self._metrics.publish(snapshot)

    def _listen_for_signals(self) -> None:
        signal.set_wakeup_fd(self._signalled.fileno(), warn_on_full_buffer=False)
        for signum in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(signum, lambda *_: None)

    def _close(self, poller: zmq.Poller) -> None:
        """Say goodbye: replies on their way are delivered, the endpoint file goes, the journal is closed."""
        deadline = time.monotonic() + _FAREWELL
        for send in self._untold.take(self._state, len(self._untold)):
            self._server.send(send.peer, send.message)
        while not self._server.idle() and time.monotonic() < deadline:
            poller.poll(20)
            self._server.receive()
            self._server.tick()
        found = read_endpoint(self._home)
        if found is not None and found.incarnation == self._incarnation:
            endpoint_file(self._home).unlink(missing_ok=True)
        with contextlib.suppress(JournalError):
            # Only a remark for people; the state does not need it.
            self._journal.append("coordinator-stopped", {}, self._clock())
        self._journal.close()
        self._server.close()
        if self._metrics is not None:
            self._metrics.close()
        LOG.info("ended")


def _unseen(looks: Sequence[LookAtJob], why: str) -> list[Event]:
    return [JobSeen(task=look.task, job_id=look.job_id, unseen=why) for look in looks]


_PERFORM: dict[type[Command], Callable[[Daemon, Any], None]] = {
    Send: Daemon._send,
    Tell: Daemon._tell,
    RunStep: Daemon._run_step,
    LookAtJob: Daemon._look,
    AskRequeue: Daemon._ask_requeue,
    Requeue: Daemon._requeue,
    AllowRequeue: Daemon._allow_requeue,
    CancelJob: Daemon._cancel_job,
    Say: Daemon._say,
    Stop: Daemon._stop,
}
