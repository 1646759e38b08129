"""The agent on a node: heartbeats, fencing, stacks. ``python -m whesl.runtime.node_agent.agent LINKFILE``.

docs/design/liveness.md says what it does, and why it is two processes. The agent's code is in memory from its
start, so that no lease depends on a file.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

import msgspec
import zmq

from whesl import take_own_name
from whesl.files import file_retry
from whesl.managers.resource import command_call, manager_table
from whesl.model import attempt_rlimit_mark
from whesl.model.event_loop_stall import Stoppage
from whesl.model.launcher_programs import NO_RANKS
from whesl.runtime.detect.hung_process_stacks import collect
from whesl.runtime.node_agent.fencing import attempt_processes, attempt_signals, stuck_processes
from whesl.runtime.node_agent.isolator_takeover_start import Succession
from whesl.runtime.node_agent.lease import KernelWitness, Lease, lead
from whesl.runtime.node_agent.memory_locking import stay_resident
from whesl.runtime.node_agent.messages import (
    TO_AGENT,
    Beat,
    BeatAnswer,
    BeatRefused,
    FindProgram,
    FromAgent,
    Kill,
    Killed,
    LeaseEnded,
    LeaseEndNoted,
    Leave,
    LinkFile,
    ProgramFound,
    ReadStacks,
    SignalProcesses,
    Stacks,
    ToAgent,
)
from whesl.runtime.node_agent.mutual_restart_pair import Pair
from whesl.runtime.wire.agent_link import LinkClient
from whesl.runtime.wire.own_addresses import bracketed

# Seconds without any contact after which an agent ends, since the allocation must be over.
ORPHANED = 120.0
# Seconds from the responder's last answer to the end of an agent that its resource manager has lost; the
# responder outlives isolator and keeper by the same time.
ABANDONED = 60.0
# Seconds without any answer during which the kernel of the isolator's node may extend the lease; a file
# system may delay the restart of a responder for long.
UNATTENDED = 1800.0
STACKS_TIMEOUT = 4.0
# Seconds between two looks at the isolator's node while an answer is overdue.
DOUBT = 0.1


def reachable(hosts: tuple[str, ...], port: int, timeout: float) -> str:
    """Return the first host that accepts a connection, or the first of all when none does.

    Args:
        hosts: names and addresses of one node.
        port: the port to connect to.
        timeout: seconds for each host.
    """
    for host in hosts:
        try:
            socket.create_connection((host, port), timeout).close()
        except OSError:
            continue
        return host
    return hosts[0]


class Endpoint(NamedTuple):
    """The isolator's node, by the address that agents use and the witness of its kernel."""

    host: str
    witness: KernelWitness


def find_endpoint(file: LinkFile) -> Endpoint:
    """Return the endpoint of the isolator's node; takes seconds if the node cannot be reached."""
    host = reachable(file.hosts, file.port, timeout=min(file.limit, 1.0))
    return Endpoint(host, KernelWitness(host, file.lease_port, file.limit / 6))


def node_name() -> str:
    """Return this node's name in the resource manager."""
    told = os.environ.get("WHESL_NODE") or manager_table.told(os.environ, manager_table.NODE)
    return told or socket.gethostname().split(".")[0]


class Agent:
    """The working half of an agent.

    Args:
        file: the isolator's link file.
        node: this node's name.
        endpoint: the endpoint of the isolator's node; None to find it.
        pair: the pair of the agent's halves; None for an agent of one process.
        succession: where another node may take the task over from the isolator's; None elsewhere.
    """

    def __init__(
        self,
        file: LinkFile,
        node: str,
        endpoint: Endpoint | None = None,
        pair: Pair | None = None,
        succession: Succession | None = None,
    ) -> None:
        self._succession = succession
        self._file = file
        self._node = node
        host, self._witness = endpoint or find_endpoint(file)
        self._client: LinkClient[ToAgent | FromAgent] = LinkClient(
            f"tcp://{bracketed(host)}:{file.port}", file.keys, node, TO_AGENT
        )
        # A restarted responder must be asked well before the lease is over.
        self._leases: LinkClient[ToAgent | FromAgent] = LinkClient(
            f"tcp://{bracketed(host)}:{file.lease_port}", file.keys, node, TO_AGENT, file.limit / 6
        )
        self._pair = pair
        self._lease = Lease(file.limit, time.monotonic(), pair.kept if pair else None)
        # The number of the next end of a lease; the clock keeps it unique over a restart of this process.
        self._told = int(time.time())
        self._ended = False  # whether the task's processes have ended here since the lease was refused
        self._ends: dict[int, LeaseEnded] = {}  # ends of leases that the isolator has not confirmed yet
        self._answers: SimpleQueue[tuple[str, FromAgent | None]] = SimpleQueue()
        self._under_way: set[str] = set()
        self._bell, self._ring = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._pausing = threading.Lock()
        self._paused: list[attempt_processes.Process] = []
        self._held = attempt_signals.HeldSignal()
        self._asked = SignalProcesses(token="", signum=0)  # the signal that was last sent to all processes

    @property
    def succeeds(self) -> bool:
        """Whether an earlier working half has held the lease."""
        return self._lease.held

    def run(self) -> None:
        """Serve until told to leave, or until there was no contact for too long."""
        poller = zmq.Poller()
        for sock in (*self._client.sockets, *self._leases.sockets, self._bell):
            poller.register(sock, zmq.POLLIN)
        stoppage = Stoppage(time.monotonic(), lead(self._file.limit))
        woke = True  # what an earlier working half has stopped may have been continued
        next_beat = 0.0
        while True:
            now = time.monotonic()
            if stoppage.found(now):
                woke = True
                self._lease.woken(now)
            # The resource manager continues all processes of a job that it resumes.
            if self._lease.in_doubt(now) and (woke or not self._lease.paused):
                self._lease.paused = True
                self._beside(f"pause {now}", self._pause, self._file.prefix)
            woke = False
            self._lease.runs(now)
            if any(self._client.changes()):
                self._client.send(Beat(number=0, held=self._lease.held))
                for end in self._ends.values():
                    self._client.send(end)
            if any(self._leases.changes()) or now >= next_beat:
                beat = Beat(number=self._lease.beat(now), ended=self._ended, held=self._lease.held)
                self._leases.send(beat)
                next_beat = now + self._file.heartbeat
            held = self._lease.held
            self._extend(now)
            if self._lease.held and not held:  # told at once, since an agent without a lease counts as absent
                self._client.send(Beat(number=0, held=True))
                next_beat = now
            for message in self._client.receive():
                if isinstance(message, Leave):
                    self._continue()
                    return
                self._handle(message)
            self._answer()
            self._held.poll(time.monotonic())
            if self._is_superseded(now) or self._is_over():
                self._continue()
                return
            now = time.monotonic()
            until = max(min(next_beat, self._lease.due(now)), now + 0.01)
            if self._lease.doubtful(now):
                until = min(until, now + DOUBT)
            until = min(until, max(self._held.due or until, now))
            if self._pair is not None and self._pair.restore_due(now):
                self._pair.restore(self._lease, self._witness.close)
            stoppage.waits(until)
            poller.poll(int((until - time.monotonic()) * 1000) + 1)

    def _pause(self, prefix: str) -> None:
        """Stop the task's processes until an answer comes: the next attempt may have begun on other nodes."""
        with self._pausing:
            if not self._lease.paused:
                return
            mine: set[tuple[int, int]] = set()
            # Processes already stopped by another program are left alone; new processes are stopped, too.
            while fresh := [
                process
                for process in self._processes(prefix)
                if process.state != "T" and (process.pid, process.started) not in mine
            ]:
                for process in fresh:
                    command_call.send(process.pid, signal.SIGSTOP)
                mine |= {(process.pid, process.started) for process in fresh}
                self._paused += fresh

    def _continue(self) -> None:
        """Continue the task's processes that this or an earlier working half has stopped."""
        if not self._lease.paused:
            return
        with self._pausing:
            mine = {(process.pid, process.started) for process in self._paused}
            for process in self._processes(self._file.prefix):
                # A process that was sent SIGSTOP a moment ago may not look stopped yet.
                if (process.pid, process.started) in mine or (not mine and process.state == "T"):
                    command_call.send(process.pid, signal.SIGCONT)
            self._paused, self._lease.paused = [], False

    def _extend(self, now: float) -> None:
        """Extend the lease by answers of the responder or of its node's kernel."""
        for message in self._leases.receive():
            if isinstance(message, BeatAnswer):
                self._lease.answered(message.number)
                self._lease.attended, self._ended = now, False
            elif isinstance(message, BeatRefused) and not self._ended:
                self._beside("refused", self._end, self._file.prefix)
        if not self._lease.doubtful(now):
            self._witness.close()
        elif now < self._lease.attended + UNATTENDED and (reached := self._witness.look(now)) is not None:
            self._lease.seen(reached, now)
        if not self._lease.in_doubt(now):
            self._continue()

    def _is_superseded(self, now: float) -> bool:
        """Look after the succession of a silent isolator; return whether there is another isolator."""
        succession = self._succession
        if succession is not None and self._lease.held and succession.due(now, self._lease.attended):
            self._beside("succession", lambda _: succession.look(), "")
        return succession is not None and succession.begun

    def _is_over(self) -> bool:
        """Kill the task's processes when the lease is over; return whether contact was lost for too long."""
        now = time.monotonic()
        if self._lease.held and self._lease.ran_out(now):
            self._beside("lease", self._end, self._file.prefix)
        if self._succession is not None and self._succession.waits:
            return False
        # An agent that the resource manager has lost ends by itself, since nobody ends it with its job.
        lease = self._lease
        last, patience = (lease.attended, ABANDONED) if lease.orphaned else (lease.deadline(), ORPHANED)
        if now <= last + max(patience, 10 * self._file.limit):
            return False
        if lease.paused:
            self._kill(self._file.prefix)
        return True

    def _handle(self, message: ToAgent | FromAgent) -> None:
        if isinstance(message, LeaseEndNoted):
            self._ends.pop(message.number, None)
        elif isinstance(message, Kill):
            kill = message
            self._beside(f"kill {kill.token} {kill.number}", lambda _: self._killed(kill), kill.token)
        elif isinstance(message, ReadStacks):
            read = self._of_ranks if message.of_ranks else self._stacks
            self._beside(f"stacks {message.of_ranks} {message.token}", read, message.token)
        elif isinstance(message, FindProgram):
            self._beside(f"find {message.token}", self._program, message.token)
        elif isinstance(message, SignalProcesses):
            self._signal(message)

    def _signal(self, message: SignalProcesses) -> None:
        def send() -> int:
            return attempt_signals.signal_catching(
                message.token, None, message.signum, self._spared(), node=self._node
            )

        if not message.version:
            send()
        elif message != self._asked:  # the isolator repeats the request on each new connection
            self._asked = message
            self._held.hold(send, time.monotonic())

    def _beside(self, name: str, work: Callable[[str], FromAgent | None], token: str) -> None:
        """Do slow work, such as reading stacks or killing, in a thread of its own, so that heartbeats go on.

        A repeated request is ignored while the first one is under way.
        """
        if name in self._under_way:
            return
        self._under_way.add(name)

        def done() -> None:
            self._answers.put((name, work(token)))
            with contextlib.suppress(BlockingIOError):  # a full pipe already wakes the main thread
                os.write(self._ring, b"!")

        threading.Thread(target=done, daemon=True).start()

    def _answer(self) -> None:
        """Send the threads' answers, since only this thread may use the connection."""
        with contextlib.suppress(BlockingIOError):
            os.read(self._bell, 4096)
        while not self._answers.empty():
            name, answer = self._answers.get()
            self._under_way.discard(name)
            if isinstance(answer, LeaseEnded):
                self._ended = self._ended or name == "refused"
                if not answer.count:
                    continue  # no process of the task ran here
                answer = msgspec.structs.replace(answer, number=self._told)
                self._ends[self._told] = answer
                self._told += 1
            if answer is not None:
                self._client.send(answer)

    def _killed(self, kill: Kill) -> FromAgent:
        done = self._kill(kill.token, kill.steps)
        return Killed(
            token=kill.token,
            number=kill.number,
            count=done.count,
            left=len(done.left),
            strange=done.strange,
        )

    def _end(self, prefix: str) -> FromAgent:
        """Kill the task's processes here until none is left."""
        silent = time.monotonic() - self._lease.contact
        attempts = attempts_of(self._processes(prefix), prefix)
        count = 0
        while True:
            done = self._kill(prefix)
            count += done.count
            if not done.left:
                return LeaseEnded(number=0, seconds=silent, count=count, attempts=attempts)

    def _of_ranks(self, token: str) -> FromAgent | None:
        if self._lease.paused:  # this agent has stopped them
            return None
        text, stopped = stuck_processes.of_ranks(lambda: self._processes(token))
        return Stacks(token=token, text=text, stuck=stopped)

    def _stacks(self, token: str) -> FromAgent:
        stuck = stuck_processes.stuck(lambda: self._processes(token))
        pids = [process.pid for process in self._processes(token)]
        return Stacks(token=token, text=collect(pids, timeout=STACKS_TIMEOUT), stuck=stuck)

    def _program(self, token: str) -> FromAgent | None:
        found = any(process.name not in NO_RANKS for process in self._processes(token))
        return ProgramFound(token=token) if found else None

    def _spared(self) -> tuple[int, ...]:
        return (os.getpid(), os.getppid())

    def _processes(self, token: str) -> list[attempt_processes.Process]:
        """Return the processes of a token; none where /proc cannot be read."""
        with contextlib.suppress(OSError):
            return attempt_processes.of_attempt(token, spare=self._spared(), node=self._node)
        return []

    def _kill(self, token: str, steps: tuple[str, ...] = ()) -> attempt_processes.Killing:
        return attempt_processes.kill_all(
            token, spare=self._spared(), node=self._node, steps=steps, timeout=self._file.limit
        )


def attempts_of(found: Iterable[attempt_processes.Process], prefix: str) -> tuple[int, ...]:
    """Return the numbers of the attempts that processes belong to, by their marks or environments.

    Args:
        found: the processes.
        prefix: the common prefix of their task's tokens.
    """
    numbers = set()
    wanted = f"\0{attempt_processes.TOKEN_VARIABLE}={prefix}".encode()
    for process in found:
        if attempt_rlimit_mark.carries(process.mark, prefix):
            numbers.add(attempt_rlimit_mark.number_of(process.mark))
            continue
        environment = b"\0" + (attempt_processes.environment_of(process.pid) or b"")
        number = environment.partition(wanted)[2].partition(b"\0")[0]
        if number.isdigit():
            numbers.add(int(number))
    return tuple(sorted(numbers))


def main() -> int:
    """Run the agent; the parent process only restarts a killed worker."""
    # SIGTERM at the job's time limit is meant for the task; the agent is needed until the very end.
    for signum in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
        signal.signal(signum, signal.SIG_IGN)
    link = Path(sys.argv[1])
    file = msgspec.json.decode(file_retry.retried(link.read_bytes), type=LinkFile)
    endpoint = find_endpoint(file)

    def work(pair: Pair) -> None:
        succession = Succession(link, file, node_name()) if file.successors else None
        agent = Agent(file, node_name(), endpoint, pair, succession)
        if not agent.succeeds:  # an earlier half has brought all code into memory, and time is short
            stay_resident()
        agent.run()
        if succession is not None:
            succession.attend()

    return Pair(file.limit, work).stand_by()


if __name__ == "__main__":
    take_own_name()
    sys.exit(main())
