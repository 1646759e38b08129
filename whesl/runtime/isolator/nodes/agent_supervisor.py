"""The isolator's side of its agents: start, liveness and loss of agents, and fencing through them."""

from __future__ import annotations

import contextlib
import logging
import math
import os
import random
import signal
import socket
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import msgspec
import zmq

from whesl.files import decode_errors, file_retry
from whesl.managers.resource.port import Allocation, Step, StepRequest
from whesl.model.errors import UsageError, WheslError
from whesl.runtime.isolator.nodes.heartbeat_responder_supervisor import Leases, listen
from whesl.runtime.isolator.nodes.job_suspension import HeldSilence, Suspension
from whesl.runtime.isolator.nodes.liveness import NodeLost, NodeUp, Silence
from whesl.runtime.node_agent.fencing import attempt_processes
from whesl.runtime.node_agent.messages import (
    FROM_AGENT,
    Beat,
    Carrier,
    FindProgram,
    FromAgent,
    Kill,
    Killed,
    LeaseEnded,
    LeaseEndNoted,
    Leave,
    LinkFile,
    ReadStacks,
    SignalProcesses,
    ToAgent,
)
from whesl.runtime.wire.agent_link import LinkServer, PeerFound, PeerLost, Received
from whesl.runtime.wire.allowed_ports import allowed
from whesl.runtime.wire.blocking_call_worker import Worker
from whesl.runtime.wire.curve_sockets import BindError
from whesl.runtime.wire.keys import LinkKeys
from whesl.runtime.wire.own_addresses import own_addresses

LOG = logging.getLogger(__name__)
RELAUNCH_AFTER = 3.0
START_LIMIT = 30.0
# Nodes that may take the task over, or end its job; each of them asks the resource manager about this one.
SUCCESSORS = 3
REVIVALS = 3  # how often the agent of one node is restarted
LOOK_AGAIN = 0.02  # seconds between two calls while a connection has closed or the responder is behind
STALE = 0.5  # largest delay in seconds of a running responder
LEAVE_LIMIT = 1.0  # seconds until agents that were told to leave are killed

# Events of agents: found or lost, an answer to a request, or the end of an attempt by a lease.
Said = Received[FromAgent | ToAgent]
Fact = NodeUp | NodeLost | Said


class _Adopted:
    """A step that an earlier isolator started, observed by its local process."""

    def __init__(self, carrier: Carrier) -> None:
        self._carrier = carrier
        self.pid = carrier.pid

    def poll(self) -> int | None:
        """Return None while the step runs, then 0, since its exit status is not known."""
        return None if attempt_processes.alive(self.pid, self._carrier.started) else 0


class _LeaseSilence(Silence):
    """Silence of agents whose leases are over only when the responder no longer extends them."""

    listened = 0.0  # until when the responder has run

    def __init__(self, nodes: Iterable[str], limit: float, leases: Leases) -> None:
        super().__init__(nodes, limit)
        self._leases = leases

    def lease_over(self, node: str, now: float) -> bool:
        return super().lease_over(node, min(now, self.listened)) and self._leases.given_up(node)


class Agents:
    """The agents of an allocation.

    Args:
        link: the file by which an agent finds this process; ``agents.log`` is beside it.
        allocation: starts the agents' step.
        nodes: all nodes except the isolator's own.
        own_node: the isolator's own node.
        claim: the present start of the job's script; agents of an earlier claim are gone.
        prefix: the common prefix of the task's tokens.
        suspension: asks whether the job is suspended.
        successors: the nodes that may take the task over.
        heartbeat: seconds between two heartbeats of an agent.
        limit: seconds of silence after which a node counts as lost.
        now: monotonic seconds.
    """

    def __init__(
        self,
        link: Path,
        allocation: Allocation,
        nodes: tuple[str, ...],
        own_node: str,
        claim: str,
        prefix: str,
        suspension: Suspension | None = None,
        *,
        successors: tuple[str, ...] = (),
        heartbeat: float,
        limit: float,
        now: float,
    ) -> None:
        self._link = link
        self._allocation = allocation
        self._nodes = nodes
        self._suspension = suspension or Suspension(allocation)
        self._held_silence = HeldSilence(self._suspension, limit)
        self._steps: list[Step] = []
        self._revived: dict[str, list[Step]] = {}
        self._began = now
        self._relaunch: float | None = None
        # The second step, common to several, of each node without an agent; None before it is started.
        self._again: dict[str, Step | None] | None = None
        self._complained = False
        # A thread of its own: a look at a node's daemon may neither block the event loop nor wait behind
        # other questions to the resource manager.
        self._witness = Worker()
        self._seen: list[tuple[str, bool | None, float | None]] = []
        self._ends: set[tuple[str, int]] = set()
        self._closing: set[str] = set()  # nodes whose agent's connection to this process has closed
        # Unanswered requests to kill, by node and token.
        self._requests: dict[tuple[str, str], Kill] = {}
        self._held: SignalProcesses | None = None
        self._look_again: float | None = None
        self._polled = now
        old = decode_errors.load(link, LinkFile)
        if old is not None and old.claim != claim:
            old = None
        keys = old.keys if old else LinkKeys.generate()
        listening = None
        try:
            self._server: LinkServer[FromAgent | ToAgent] = (
                LinkServer("*", old.port, keys, FROM_AGENT) if old else _listening(keys)
            )
        except BindError:
            if old is None:
                raise
            # Another program uses the port now: the old agents reach no isolator, and end by themselves.
            old, keys = None, LinkKeys.generate()
            self._server = _listening(keys)
        if old is None:
            listening = _lease_listening()
        self.leases = Leases(nodes, keys, listening, old)
        self.silence = _LeaseSilence(nodes, limit, self.leases)
        self._file = LinkFile(
            hosts=addresses(own_node),
            port=self._server.port,
            lease_port=self.leases.port,
            keys=keys,
            claim=claim,
            prefix=prefix,
            heartbeat=heartbeat,
            limit=limit,
            successors=successors,
        )
        if old is None:
            self._write_down()
            self._begin(nodes)
        else:
            # Agents that an earlier isolator started find this one by the same address and keys.
            self._steps += map(_Adopted, old.carriers)
            self._write_down()
            self._relaunch = now + RELAUNCH_AFTER

    @property
    def sockets(self) -> tuple[zmq.Socket[bytes] | int, ...]:
        """The sockets and descriptors to poll for reading."""
        return (*self._server.sockets, self._witness.fileno())

    def _launch(self, nodes: tuple[str, ...]) -> Step | None:
        # Made private here; the step would make the file with the user's umask.
        log = str(self._link.parent / "agents.log")
        with contextlib.suppress(OSError):
            file_retry.close(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600))
        request = StepRequest(
            command=(sys.executable, "-m", attempt_processes.AGENT, str(self._link)),
            nodes=nodes,
            tasks=len(nodes),
            workdir="/",
            output=log,
            error=log,
        )
        try:
            return self._allocation.launch(request)
        except (WheslError, OSError) as error:
            self._complain(str(error))
            return None

    def _begin(self, nodes: tuple[str, ...]) -> Step | None:
        if (step := self._launch(nodes)) is not None:
            self._steps.append(step)
            self._write_down()
        return step

    def _write_down(self) -> None:
        """Write the steps that carry the agents to the link file, for a later isolator."""
        # Without the file, as on a full disk, a step's end looks like the loss of nodes.
        with contextlib.suppress(OSError):
            found = [
                process for step in self._steps if (process := attempt_processes.read(step.pid)) is not None
            ]
            carriers = tuple(Carrier(pid=process.pid, started=process.started) for process in found)
            leases = self.leases
            file = msgspec.structs.replace(
                self._file, carriers=carriers, responder=leases.carrier, table=leases.descriptor
            )
            file_retry.replace(self._link, msgspec.json.encode(file))

    def _revive(self, node: str) -> None:
        """Start another agent on a node that may live without one.

        Both halves of the node's agent were killed, or the node was cut off in a way that closes connections.
        No other process ends the attempt there: the lease that fencing relies on has died with the agent.
        """
        steps = self._revived.setdefault(node, [])
        if len(steps) < REVIVALS and (step := self._launch((node,))) is not None:
            steps.append(step)

    def _start_again(self, now: float) -> None:
        """Start agents on nodes without one: together at first, later each by itself.

        A step with a lost node starts on none of its nodes, and a node whose agent does not come back is lost
        by silence. So nodes whose agents were heard get a step without the others, of which one may have died
        unheard. Later steps have one node each, at most ``REVIVALS`` for each node.
        """
        self._relaunch = None
        absent = tuple(node for node in self.silence.absent() if not self.silence.is_lost(node))
        if self._again is None:
            self._again = {}
            for heard in (True, False):
                if nodes := tuple(node for node in absent if self.silence.present(node) is heard):
                    self._again |= dict.fromkeys(nodes, self._begin(nodes))
            return
        for node in absent:
            if not (_runs(self._again.get(node)) or self._carried(node)):
                self._revive(node)
        if any(len(self._revived.get(node, ())) < REVIVALS for node in absent):
            self._relaunch = now + RELAUNCH_AFTER

    def _witnessed(self, node: str, gone: bool | None, closed: float | None, now: float) -> None:
        """Take a look's result; start an agent on a living node that a fence waits for."""
        self.silence.witnessed(node, gone, closed, now)
        awaited = any(asked == node for asked, _ in self._requests)
        if gone is not False or not awaited or not self.silence.is_lost(node):
            return
        # No agent was started for a node lost by silence; this node was down or cut off, and is back.
        if not self._carried(node):
            del self._revived.get(node, [])[-1:]
            self._revive(node)

    def _carried(self, node: str) -> bool:
        """Whether a step of the node alone runs, which carries an agent or starts one."""
        return _runs(next(reversed(self._revived.get(node, ())), None))

    def _complain(self, why: str) -> None:
        if not self._complained:
            self._complained = True
            LOG.warning("no agents: %s; loss of a node is known only from the resource manager", why)

    def poll(self, now: float, *, cut_off: bool = False) -> list[Fact]:
        """Return the events since the last call, without waiting.

        Args:
            now: monotonic seconds.
            cut_off: whether this node may be the one that is cut off, so that no silence is judged.
        """
        self._polled = now
        facts: list[Fact] = []
        for event in self._server.receive():
            if isinstance(event, PeerFound):
                self._found(event.peer)
            elif isinstance(event, PeerLost):
                if event.peer in self.leases.table:
                    self._closing.add(event.peer)
            else:
                facts += self._message(event, now)
        facts += self._read_leases(now)
        for call in self._witness.results():
            call()
        while self._seen:
            self._witnessed(*self._seen.pop(), now)
        running = [step for step in self._steps if step.poll() is None]
        over = len(running) < len(self._steps)
        listened = -math.inf if cut_off or self._held_silence.now(now) else self.silence.listened
        for fact in self.silence.lost(now, step_over=over, listened=listened):
            facts.append(fact)
            if self.silence.closed_since(fact.node) is not None and not self.silence.is_dead(fact.node):
                self._revive(fact.node)
        if over:
            self._steps = running
            self._relaunch = now
        for node in (*self.silence.doubtful(now), *self.silence.late(now)):
            self._look(node)
        if self._relaunch is not None and now >= self._relaunch:
            self._start_again(now)
        if now > self._began + START_LIMIT and not self._complained and self.silence.never_heard():
            self._complain(f"{', '.join(self.silence.never_heard())} did not answer")
        return facts

    def _found(self, node: str) -> None:
        """Repeat requests on an agent's new connection, since they may be lost on an earlier one."""
        self._closing.discard(node)
        for (asked, _), request in self._requests.items():
            if asked == node:
                self._server.send(node, request)
        if self._held is not None:
            self._server.send(node, self._held)

    def _read_leases(self, now: float) -> list[Fact]:
        """Read the responder's answers to heartbeats, and restart a responder that has ended."""
        if self.leases.revive(now):
            self._write_down()
        table = self.leases.table
        facts: list[Fact] = []
        self.silence.listened = table.tick
        self.silence.began(table.since or now)
        for node in self._nodes:
            if not table.refused(node) and self.silence.answered(node, table.answered(node)):
                facts.append(NodeUp(node))
        if self._suspension.present:
            self.silence.began(now)
        self._held_silence.note(self.silence.doubted(min(now, self.silence.listened)), now)
        # A closed connection to the isolator means nothing while the agent's connection to the responder is
        # open. A dead node's last heartbeats may still be answered, so both are compared while it is closed.
        for node in self._closing:
            if not table.connected(node):
                self.silence.closed(node, now)
        undecided = any(self.silence.closed_since(node) is None for node in self._closing)
        self._look_again = now + LOOK_AGAIN if undecided or self.silence.listened + STALE < now else None
        return facts

    def _look(self, node: str) -> None:
        """Ask the resource manager whether a node's daemon lives; the answer comes with a later ``poll``."""
        closed = self.silence.closed_since(node)
        self._witness.submit(lambda: self._gone(node), lambda gone: self._seen.append((node, gone, closed)))

    def _gone(self, node: str) -> bool | None:
        try:
            return self._allocation.gone(node)
        except Exception as error:
            # After any error, the daemon's state is unknown, and the lease decides.
            LOG.debug("the daemon of %s could not be observed: %s", node, error)
            return None

    def _message(self, said: Said, now: float) -> list[Fact]:
        node, message = said.peer, said.message
        back: list[Fact] = []
        if isinstance(message, Beat):
            # An agent whose lease was given up has to end the attempt before its node is used again.
            extends = node in self.leases.table and not self.leases.table.refused(node)
            if message.held and extends and self.silence.heard(node, now):
                back.append(NodeUp(node))
        elif isinstance(message, LeaseEnded):
            self._server.send(node, LeaseEndNoted(number=message.number))
            if (node, message.number) not in self._ends:
                self._ends.add((node, message.number))
                back.append(said)
        elif isinstance(message, Killed):
            request = self._requests.get((node, message.token))
            if request is not None and request.number == message.number:
                del self._requests[node, message.token]
            back.append(said)
        else:
            back.append(said)
        return back

    def kill(self, node: str, token: str, number: int = 0, steps: tuple[str, ...] = ()) -> bool:
        """Ask a node's agent to kill an attempt; repeat that on new connections; False when it is away now.

        Args:
            node: the agent's node.
            token: the attempt's token.
            number: the number of the request and of its answer.
            steps: the resource manager's steps that are known to belong to the attempt.
        """
        self._requests[node, token] = request = Kill(token=token, number=number, steps=steps)
        sent = self._server.send(node, request)
        if not sent and self.silence.unheld(node):
            self._look(node)  # the scheduled looks at the node's daemon have become rare
        return sent

    def read_stacks(self, node: str, request: ReadStacks) -> bool:
        """Ask a node's agent for stacks; return False when the agent is away.

        Args:
            node: the agent's node.
            request: the processes whose stacks are read.
        """
        return self._server.send(node, request)

    def find_program(self, token: str) -> None:
        """Ask the agents of all nodes to look for an attempt's program."""
        for node in self._server.peers:
            self._server.send(node, FindProgram(token=token))

    def signal(self, token: str, signum: int, version: int = 0) -> None:
        """Send a signal to the attempt's processes on all other nodes.

        Args:
            token: the attempt's token.
            signum: the signal.
            version: the version of the configuration that the signal announces, so that agents that connect
                later send it, too; 0 for none.
        """
        message = SignalProcesses(token=token, signum=signum, version=version)
        if version:
            self._held = message
        for node in self._server.peers:
            self._server.send(node, message)

    def next_deadline(self) -> float | None:
        """Return when ``poll`` has to be called at the latest."""
        due = self.silence.next_deadline(self._polled)
        if due is not None:
            # Deadlines follow the responder's time, which may be a little behind.
            due = max(due, self._polled + LOOK_AGAIN)
        times = [time for time in (due, self._relaunch, self._look_again) if time is not None]
        return min(times, default=None)

    def _still_running(self) -> list[Step]:
        """Return the steps that have not ended by themselves within the agents' time to leave.

        After a killed srun, slurmstepd tries to reach it for seconds, during which the job stays COMPLETING
        and delays dependent jobs. A step with an agent that cannot be reached does not end by itself.
        """
        steps = [*self._steps, *(step for some in self._revived.values() for step in some)]
        leaving = all(self.silence.present(node) for node in self._nodes)
        deadline = time.monotonic() + LEAVE_LIMIT
        while running := [step for step in steps if step.poll() is None]:
            if not leaving or time.monotonic() > deadline:
                return running
            time.sleep(0.01)
        return []

    def close(self) -> None:
        """Dismiss the agents, and kill steps that do not end."""
        for node in self._server.peers:
            self._server.send(node, Leave())
        for step in self._still_running():
            with contextlib.suppress(WheslError):
                self._allocation.signal(step, signal.SIGKILL)
        self._witness.close()
        self._server.close()
        self.leases.close()
        self._link.unlink(missing_ok=True)


def _runs(step: Step | None) -> bool:
    return step is not None and step.poll() is None


def _listening(keys: LinkKeys) -> LinkServer[FromAgent | ToAgent]:
    """Listen for agents on one of the ports set for them, or on any: no task fails for lack of a port."""
    try:
        if (ports := allowed(os.environ)) is not None:
            return LinkServer("*", 0, keys, FROM_AGENT, ports=ports)
    except (UsageError, BindError) as error:
        LOG.warning("%s; agents are listened to on another port", error.message)
    return LinkServer("*", 0, keys, FROM_AGENT)


def _lease_listening() -> socket.socket:
    """Listen for heartbeats on one of the ports set for agents, or on any."""
    try:
        if (ports := allowed(os.environ)) is not None:
            return listen(random.sample(ports, len(ports)))
    except WheslError as error:
        LOG.warning("%s; heartbeats are listened to on another port", error.message)
    return listen((0,))


def addresses(own_node: str) -> tuple[str, ...]:
    """Return the addresses and names by which other nodes may reach this one, the likely ones first.

    Names come after addresses, since a failing look-up of a name takes seconds.
    """
    names = [name for name in (own_node, socket.gethostname()) if name]
    others, loopback = own_addresses()
    # Nodes on one machine reach each other only over the loopback interface.
    return tuple(dict.fromkeys((*others, *names, *loopback)))
