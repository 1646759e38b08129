"""The agent on a node: heartbeats, fencing, stacks. ``python -m whesl.isolator.agent LINKFILE``.

It holds a lease. A heartbeat that the isolator answered extends it from the moment at which that heartbeat
was *sent*, so the isolator, which saw it later, never believes it to be over while it is not. When the
lease is over, the agent kills the task's processes on its node itself: that is how a node is fenced that is
cut off. (Gray, Cheriton: Leases, SOSP 1989.)

Two processes: one works, the other starts it again should it be killed, for example for want of memory. It
does not end the attempt then: an agent's misfortune is no failure of the task's, and the lease is held again
within milliseconds. With both killed on a node that lives, nobody holds the lease any more; the isolator then
starts another agent there (``agents.Agents``).
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue

import msgspec
import zmq

from whesl.detect.stacks import collect
from whesl.isolator import processes
from whesl.isolator.link import (
    TO_AGENT,
    Beat,
    BeatAnswer,
    FindProgram,
    FromAgent,
    Kill,
    Killed,
    Leave,
    LinkFile,
    ProgramFound,
    ReadStacks,
    SignalProcesses,
    Stacks,
    ToAgent,
)
from whesl.wire.link import LinkClient

# Without any contact for this long, there is nobody left to serve: the allocation is over.
ORPHANED = 120.0
STACKS_TIMEOUT = 4.0


class Lease:
    """The lease, on a monotonic clock.

    Args:
        limit: seconds from the sending of an answered heartbeat.
        now: the clock.
    """

    def __init__(self, limit: float, now: float) -> None:
        self.limit = limit
        self.contact = now
        self._sent: dict[int, float] = {}
        self._number = 0
        self._acted = False

    def beat(self, now: float) -> int:
        """Note that a heartbeat is sent, and return its number."""
        self._number += 1
        self._sent[self._number] = now
        return self._number

    def answered(self, number: int) -> None:
        """Extend the lease by an answer; late and repeated ones never shorten it."""
        sent = self._sent.pop(number, None)
        if sent is None:
            return
        self._sent = {other: when for other, when in self._sent.items() if other > number}
        self.contact = max(self.contact, sent)
        self._acted = False

    def ran_out(self, now: float) -> bool:
        """Whether the lease has just run out (once for each time)."""
        if self._acted or now < self.contact + self.limit:
            return False
        self._acted = True
        return True

    def deadline(self) -> float:
        """Return when it runs out."""
        return self.contact + self.limit


def reachable(hosts: tuple[str, ...], port: int, timeout: float) -> str:
    """Return the first address that accepts a connection, the first of all when none does."""
    for host in hosts:
        try:
            socket.create_connection((host, port), timeout).close()
        except OSError:
            continue
        return host
    return hosts[0]


def node_name() -> str:
    """Return this node's name as the resource manager calls it."""
    told = os.environ.get("WHESL_NODE") or os.environ.get("SLURMD_NODENAME")
    return told or socket.gethostname().split(".")[0]


class Agent:
    """The working half.

    Args:
        file: what the isolator wrote down.
        node: this node's name.
    """

    def __init__(self, file: LinkFile, node: str) -> None:
        self._file = file
        self._node = node
        host = reachable(file.hosts, file.port, timeout=min(file.limit, 1.0))
        self._client: LinkClient[ToAgent | FromAgent] = LinkClient(
            f"tcp://{host}:{file.port}", file.keys, node, TO_AGENT
        )
        self._lease = Lease(file.limit, time.monotonic())
        self._answers: SimpleQueue[tuple[str, FromAgent | None]] = SimpleQueue()
        self._under_way: set[str] = set()
        self._bell, self._ring = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def run(self) -> None:
        """Serve until told to leave, or until nobody has been there for long."""
        poller = zmq.Poller()
        for sock in (*self._client.sockets, self._bell):
            poller.register(sock, zmq.POLLIN)
        next_beat = 0.0
        while True:
            now = time.monotonic()
            changes = self._client.changes()
            if now >= next_beat or any(changes):
                self._client.send(Beat(number=self._lease.beat(now)))
                next_beat = now + self._file.heartbeat
            for message in self._client.receive():
                if isinstance(message, Leave):
                    return
                self._handle(message)
            self._answer()
            if self._lease.ran_out(time.monotonic()):
                self._kill(self._file.prefix)
            if time.monotonic() > self._lease.contact + max(ORPHANED, 10 * self._file.limit):
                return
            wait = min(next_beat, self._lease.deadline()) - time.monotonic()
            poller.poll(int(max(wait, 0.01) * 1000))

    def _handle(self, message: ToAgent | FromAgent) -> None:
        if isinstance(message, BeatAnswer):
            self._lease.answered(message.number)
        elif isinstance(message, Kill):
            kill = message
            self._beside(f"kill {kill.token} {kill.number}", lambda _: self._killed(kill), kill.token)
        elif isinstance(message, ReadStacks):
            self._beside(f"stacks {message.token}", self._stacks, message.token)
        elif isinstance(message, FindProgram):
            self._beside(f"find {message.token}", self._program, message.token)
        elif isinstance(message, SignalProcesses):
            processes.signal_attempt(
                message.token, None, message.signum, "catching", self._spared(), node=self._node
            )

    def _beside(self, name: str, work: Callable[[str], FromAgent | None], token: str) -> None:
        """Do slow work in a thread of its own: a node that reads stacks or kills is not a silent one.

        The same request again, while it is under way, is the isolator's impatience.
        """
        if name in self._under_way:
            return
        self._under_way.add(name)

        def done() -> None:
            self._answers.put((name, work(token)))
            with contextlib.suppress(BlockingIOError):  # the bell rings already
                os.write(self._ring, b"!")

        threading.Thread(target=done, daemon=True).start()

    def _answer(self) -> None:
        """Send what the threads have found out; only this thread may use the connection."""
        with contextlib.suppress(BlockingIOError):
            os.read(self._bell, 4096)
        while not self._answers.empty():
            name, answer = self._answers.get()
            self._under_way.discard(name)
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

    def _stacks(self, token: str) -> FromAgent:
        stuck = processes.stuck(lambda: self._processes(token))
        pids = [process.pid for process in self._processes(token)]
        return Stacks(token=token, text=collect(pids, timeout=STACKS_TIMEOUT), stuck=stuck)

    def _program(self, token: str) -> FromAgent | None:
        found = any(process.name not in processes.NO_RANKS for process in self._processes(token))
        return ProgramFound(token=token) if found else None

    def _spared(self) -> tuple[int, ...]:
        return (os.getpid(), os.getppid())

    def _processes(self, token: str) -> list[processes.Process]:
        return processes.of_attempt(token, spare=self._spared(), node=self._node)

    def _kill(self, token: str, steps: tuple[str, ...] = ()) -> processes.Killing:
        return processes.kill_all(
            token, spare=self._spared(), node=self._node, steps=steps, timeout=self._file.limit
        )


def main() -> int:
    """Run the agent; the parent process only starts the worker again when it was killed."""
    # The time limit's TERM is for the task; the agent is needed until the very end.
    for signum in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
        signal.signal(signum, signal.SIG_IGN)
    file = msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=LinkFile)
    while True:
        child = os.fork()
        if child == 0:
            Agent(file, node_name()).run()
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if not os.WIFSIGNALED(status):
            return os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    sys.exit(main())
