"""The coordinator's shell: one loop over sockets, workers and the clock; journal first, then act.

A step of the core is carried out in this order: write its records to disk, replace the state, acknowledge the
message that caused the step, perform its commands. A kill between any two of these loses nothing: the next
start continues recorded work, and senders repeat messages that were not recorded.
"""

from __future__ import annotations

import contextlib
import logging
import os
import select
import signal
import socket
import time
from collections import deque
from collections.abc import Callable, Sequence
from copy import deepcopy
from pathlib import Path
from typing import IO, Any, get_args

import msgspec
import zmq

from whesl import __version__
from whesl.files import file_retry
from whesl.managers.workflow.submission import bad_nodes_file
from whesl.model import home as places
from whesl.model.errors import WheslError
from whesl.runtime.coordinator import file_limit, json_views, python_gc
from whesl.runtime.coordinator.core.events_and_commands import (
    Command,
    Event,
    HeartbeatsArrived,
    Say,
    Send,
    Started,
    Stop,
    Tell,
    Tick,
)
from whesl.runtime.coordinator.core.recovery.dependent_reconfiguration import WaitingPeers
from whesl.runtime.coordinator.core.state import Settings
from whesl.runtime.coordinator.core.state_machine import events_of, recorded_step
from whesl.runtime.coordinator.counters import Snapshot
from whesl.runtime.coordinator.effects.manager_calls import Call, Calls
from whesl.runtime.coordinator.effects.scheduler_and_manager_lookup import Ports
from whesl.runtime.coordinator.metrics import LatestSnapshot
from whesl.runtime.coordinator.storage.background_snapshots import Snapshotter
from whesl.runtime.coordinator.storage.restore import reopen
from whesl.runtime.coordinator.storage.snapshots import Kept
from whesl.runtime.journal import snapshot
from whesl.runtime.journal.records import coordinator_records as records
from whesl.runtime.journal.sqlite_errors import JournalError
from whesl.runtime.journal.steady_clock import Clock
from whesl.runtime.journal.store import Journal
from whesl.runtime.wire.blocking_call_worker import Worker
from whesl.runtime.wire.curve_sockets import BindError
from whesl.runtime.wire.delivery import new_incarnation
from whesl.runtime.wire.endpoint import Endpoint, reachable_addresses, read_endpoint, write_endpoint
from whesl.runtime.wire.keys import UserKeys, user_keys
from whesl.runtime.wire.messages import WIRE_VERSION, Query, Register, Reply
from whesl.runtime.wire.metrics_server import MetricsServer
from whesl.runtime.wire.server import CoordinatorServer, Delivery
from whesl.runtime.wire.spool import collect, put_aside

LOG = logging.getLogger(__name__)
_LONGEST_TICK = 1.0
_FAREWELL = 2.0
_BATCH = 256
_JOURNAL_RETRY = 1.0
# Above _MANY messages in a second, a round with fewer than _FEW messages is followed by a wait of _GATHERING
# milliseconds: a round costs more than one heartbeat in it (network drivers coalesce interrupts for this).
_MANY, _FEW = 500, 32
_GATHERING = 3
# New configurations go to _SLICE tasks every _PACE seconds: 10,000 tasks take two seconds and a third of a
# processor, while other messages are answered.
_SLICE = 25
_PACE = 0.005
# Bytes reserved for some thousand records while the journal's disk is full.
_RESERVE = 2 * 1024 * 1024


# An event, and the messages that it stands for: none where no message caused it.
_Taken = tuple[Event, tuple[Delivery, ...]]


class Daemon:
    """One coordinator, whose lock the caller holds.

    Args:
        home: the WHESL home.
        ports: schedulers and workflow managers.
        settings: times and limits.
        bind: address to listen on, ``*`` for all.
        allowed: ports that the coordinator may listen on; None: any.
        idle: seconds without an unfinished task or a message after which the coordinator ends; None: never.
        metrics: host and port to serve figures on; None: nowhere. A failure to listen there is only logged.
        log: takes the standard error of handlers.

    Raises JournalError or BindError when the coordinator cannot start.
    """

    def __init__(
        self,
        home: Path,
        ports: Ports,
        *,
        settings: Settings = Settings(),  # noqa: B008 - frozen
        bind: str = "*",
        allowed: range | None = None,
        idle: float | None = None,
        metrics: tuple[str, int] | None = None,
        log: IO[Any] | int,
    ) -> None:
        self._home = home
        self._clock = Clock()
        self._idle = idle
        self._directory = places.coordinator(home)
        journal = self._directory / "journal.db"
        after = max(map(snapshot.number, snapshot.found(self._directory)), default=0)
        self._journal = Journal(journal, reserve=_RESERVE, after=after)
        if self._journal.damage is not None:
            LOG.error("%s", self._journal.damage)
        self._incarnation = new_incarnation()
        keys = user_keys(home)
        # The last start's port is reused where it is free: clients that know it reconnect at once.
        earlier = read_endpoint(home)
        self._server = self._listen(bind, allowed, earlier.port if earlier else 0, keys)
        self._endpoint = Endpoint(
            host=socket.gethostname(),
            addresses=reachable_addresses(bind),
            port=self._server.port,
            public_key=keys.coordinator.public,
            pid=os.getpid(),
            incarnation=self._incarnation,
            wire=WIRE_VERSION,
            version=__version__,
        )
        self._heartbeats = 0
        begun, kept = reopen(self._journal, settings)
        self._state = kept.state
        self._server.restore(kept.inbox)
        self._figures = kept.figures
        self._snapshotter = Snapshotter(self._journal, begun)
        self._shown = LatestSnapshot(self._directory / "journal.db")
        self._metrics = self._serve(metrics) if metrics is not None else None
        self._events: deque[Event] = deque([Started()])
        self._workers = Worker(4)
        self._calls = Calls(self._workers, self._events.extend, ports, log)
        self._waiting_peers = WaitingPeers()
        self._next_sending = 0.0
        self._stopping = False
        self._journal_failed = False
        self._trouble = ""  # why the journal cannot be written now, for people
        self._needed = time.monotonic()
        self._most_connections = file_limit.raise_limit()
        self._full = False
        self._interval = min(_LONGEST_TICK, settings.heartbeat / 4)
        self._next_tick = 0.0
        self._heard = self._new = 0  # messages since the last tick; messages in the last round
        self._many = False
        self._signals, self._signalled = socket.socketpair()
        for end in (self._signals, self._signalled):
            end.setblocking(False)

    def run(self) -> None:
        """Serve until a command or a signal stops the daemon."""
        python_gc.spare()
        write_endpoint(self._home, self._endpoint)
        started = records.CoordinatorStarted(pid=self._endpoint.pid, host=self._endpoint.host)
        self._journal.append(started.kind, started, self._clock())
        bad_nodes_file.publish(self._home, self._state.bad_nodes.values())
        LOG.info("listening on port %d, %d tasks known", self._server.port, len(self._state.tasks))
        if self._most_connections < file_limit.FEW:
            most = self._most_connections
            LOG.warning("at most %d isolators can be connected: %s", most, file_limit.advice(most))
        self._listen_for_signals()
        poller = zmq.Poller()
        for watched in (*self._server.sockets, self._workers.fileno(), self._signals.fileno()):
            poller.register(watched, zmq.POLLIN)
        aside = select.poll()
        for descriptor in (self._workers.fileno(), self._signals.fileno()):
            aside.register(descriptor, select.POLLIN)
        while not self._stopping:
            if self._many and self._new < _FEW:
                aside.poll(_GATHERING)
            self._iterate({which for which, _ in poller.poll(max(1, int(self._wait() * 1000)))})
        self._close(poller)

    def stop(self) -> None:
        """End the loop after its present round."""
        self._stopping = True

    # The loop, step by step -----------------------------------------------------------------------------

    def _iterate(self, readable: set[Any]) -> None:
        if self._signals.fileno() in readable:
            self._hear_signals()
        if self._workers.fileno() in readable:
            for deliver in self._workers.results():
                deliver()
        if self._events:
            self._handle_events()
        self._hear()
        if time.monotonic() >= self._next_tick:
            self._next_tick = time.monotonic() + self._interval
            self._many = self._heard > _MANY * self._interval
            self._heard = 0
            self._collect()
            self._take([(Tick(), ())])
            self._count_connections()
            self._publish()
            self._snapshotter.look(len(self._state.tasks), self._kept)
        self._server.tick()
        self._tell_some()
        self._rest()

    def _wait(self) -> float:
        if self._events:
            return _JOURNAL_RETRY if self._journal_failed else 0.0
        next_deadline = min(self._next_tick, self._next_sending) if self._waiting_peers else self._next_tick
        wait = next_deadline - time.monotonic()
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
        """Handle the workers' results; results stay queued while the journal cannot be written."""
        waiting: list[_Taken] = [(event, ()) for event in self._events]
        if self._take(waiting):
            for _ in waiting:
                self._events.popleft()

    def _hear(self) -> None:
        deliveries = self._server.receive()
        self._new = len(deliveries)
        if not deliveries:
            return
        self._heard += len(deliveries)
        self._needed = time.monotonic()
        kinds = {type(delivery.message) for delivery in deliveries}
        if Register in kinds:
            # The spool is read first: the messages of an ancestor that ended out of reach concern a starting
            # task.
            self._collect()
        if Query in kinds:
            for delivery in deliveries:
                if isinstance(delivery.message, Query):
                    self._server.settle(delivery)
                    self._server.send(delivery.peer, self._answer(delivery.message))
            deliveries = [delivery for delivery in deliveries if not isinstance(delivery.message, Query)]
        heard = list(events_of(deliveries))
        for first in range(0, len(heard), _BATCH):
            # A message that is not recorded is not acknowledged, so its sender repeats it.
            self._take(heard[first : first + _BATCH])

    def _collect(self) -> None:
        """Handle the spooled messages of isolators that ended while this coordinator was out of reach."""
        try:
            found, unreadable = collect(self._home)
        except OSError as error:
            LOG.error("what isolators may have left could not be looked at: %s", error)
            return
        for path in unreadable:
            with contextlib.suppress(OSError):
                LOG.error("what was left could not be understood, see %s", put_aside(path))
        for left in found:
            new = list(events_of(self._server.take_in(left.envelopes)))
            if not all(self._take(new[first : first + _BATCH]) for first in range(0, len(new), _BATCH)):
                return
            if new:
                LOG.info("%s had left %d messages, %d of them new", left.peer, len(left.envelopes), len(new))
            self._server.forget(left.peer)
            with contextlib.suppress(OSError):
                file_retry.remove(left.path, file_retry.BRIEF)

    def _take(self, events: Sequence[_Taken]) -> bool:
        """Handle all events, or none and return False when their records cannot be written.

        All records share one write: a thousand isolators that register at once wait for one fsync.
        """
        now = self._clock()
        state = self._state
        written: list[records.AnyRecord] = []
        commands: list[Command] = []
        for event, deliveries in events:
            state, own, more = recorded_step(state, event, [each.origin for each in deliveries], now)
            written += own
            commands += more
        if written and not self._write_down(written, now):
            return False
        changed = state.bad_nodes is not self._state.bad_nodes
        self._state = state
        if changed:
            bad_nodes_file.publish(self._home, state.bad_nodes.values())
        for record in written:
            self._figures.take(record)
        for event, deliveries in events:
            if isinstance(event, HeartbeatsArrived):
                self._heartbeats += len(deliveries)
            for delivery in deliveries:
                self._server.settle(delivery)
        for command in commands:
            _PERFORM[type(command)](self, command)
        self._calls.look_at_jobs(state)
        return True

    def _write_down(self, written: list[records.AnyRecord], now: float) -> bool:
        try:
            self._journal.append_many([(record.kind, record) for record in written], now)
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
        """End the loop after ``idle`` seconds without an unfinished task or a message."""
        if self._idle is None or time.monotonic() - self._needed < self._idle:
            return
        if all(task.state.final for task in self._state.tasks.values()):
            LOG.info("idle for %g s: ending", self._idle)
            self.stop()
        else:
            # A task may wait in a queue or be paused. The search through all tasks is not repeated in each
            # round.
            self._needed = time.monotonic()

    # Commands -------------------------------------------------------------------------------------------

    def _send(self, command: Send) -> None:
        earlier = self._waiting_peers.before(self._state, command.peer)
        if earlier is not None:
            self._server.send(earlier.peer, earlier.message)
        self._server.send(command.peer, command.message)

    def _tell_some(self) -> None:
        """Send the next slice of changed configurations."""
        if self._waiting_peers and time.monotonic() >= self._next_sending:
            for send in self._waiting_peers.take(self._state, _SLICE):
                self._server.send(send.peer, send.message)
            self._next_sending = time.monotonic() + _PACE

    # Beside the loop ------------------------------------------------------------------------------------

    def _listen(self, bind: str, allowed: range | None, port: int, keys: UserKeys) -> CoordinatorServer:
        if allowed is not None and port not in allowed:
            port = 0
        try:
            return CoordinatorServer(bind, port, keys, self._incarnation, ports=allowed)
        except BindError:
            if not port:
                raise
            return CoordinatorServer(bind, 0, keys, self._incarnation, ports=allowed)

    def _kept(self) -> Kept:
        """Return the content of a snapshot: the state and counts that the whole journal leads to."""
        return Kept(state=self._state.durable(), inbox=self._server.memory(), figures=deepcopy(self._figures))

    def _answer(self, query: Query) -> Reply:
        if query.what == "status":
            body = json_views.status_view(self._state, query.workflow)
        elif query.what == "nodes":
            body = json_views.nodes_view(self._state, self._clock())
        elif query.what == "health":
            body = json_views.health_view(self._state, dict(self._server.counters), self._server.waiting())
            body.update(pid=self._endpoint.pid, host=self._endpoint.host, port=self._endpoint.port)
            body.update(metrics=self._metrics.where if self._metrics is not None else "")
            body.update(journal=self._trouble or self._snapshotter.trouble)
        else:
            return Reply(ok=False, error=f"there is no query {query.what!r}")
        return Reply(ok=True, body=msgspec.json.encode(body))

    def _serve(self, where: tuple[str, int]) -> MetricsServer | None:
        """Start to serve figures; return None where the port is taken, since recoveries matter more."""
        try:
            server = MetricsServer(self._shown, *where)
        except WheslError as error:
            LOG.error("%s", error)
            return None
        LOG.info("metrics on http://%s/metrics", server.where)
        return server

    def _count_connections(self) -> None:
        """Log when the limit of connections is reached: further isolators go on alone and unobserved."""
        connections, most = self._server.connections(), self._most_connections
        if connections >= most and not self._full:
            LOG.error("%d connections, no more are possible: %s", connections, file_limit.advice(most))
        self._full = connections >= most

    def _publish(self) -> None:
        if self._metrics is not None:
            snapshot = Snapshot(
                state=self._state,
                figures=deepcopy(self._figures),
                heartbeats=self._heartbeats,
                connected=self._server.connected(),
                waiting=self._server.waiting(),
                counters=dict(self._server.counters),
                time=self._clock(),
            )
            self._shown.publish(snapshot)

    def _listen_for_signals(self) -> None:
        signal.set_wakeup_fd(self._signalled.fileno(), warn_on_full_buffer=False)
        for signum in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(signum, lambda *_: None)

    def _close(self, poller: zmq.Poller) -> None:
        """Send the waiting messages, remove the endpoint file, and close the journal."""
        deadline = time.monotonic() + _FAREWELL
        for send in self._waiting_peers.take(self._state, len(self._waiting_peers)):
            self._server.send(send.peer, send.message)
        while not self._server.idle() and time.monotonic() < deadline:
            poller.poll(20)
            self._server.receive()
            self._server.tick()
        found = read_endpoint(self._home)
        if found is not None and found.incarnation == self._incarnation:
            with contextlib.suppress(OSError):
                file_retry.remove(places.endpoint(self._home))
        with contextlib.suppress(JournalError):
            # This record is for people; the state does not need it.
            stopped = records.CoordinatorStopped()
            self._journal.append(stopped.kind, stopped, self._clock())
        self._journal.close()
        self._server.close()
        if self._metrics is not None:
            self._metrics.close()
        LOG.info("ended")


_PERFORM: dict[type[Command], Callable[[Daemon, Any], None]] = {
    Send: Daemon._send,
    Tell: lambda daemon, command: daemon._waiting_peers.add(daemon._state, command),
    **dict.fromkeys(get_args(Call), lambda daemon, command: daemon._calls.make(command, daemon._state)),
    Say: lambda _, command: LOG.info("%s", command.text),
    Stop: lambda daemon, _: daemon.stop(),
}
