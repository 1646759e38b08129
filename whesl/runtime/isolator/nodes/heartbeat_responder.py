"""The responder, which answers the agents' heartbeats on the isolator's node (docs/design/liveness.md).

``python -m whesl.runtime.isolator.nodes.heartbeat_responder``, with its setup as JSON on standard input. The
responder is killed when the task is over, and ends by itself a while after isolator and keeper.
"""

from __future__ import annotations

import contextlib
import signal
import sys
import time

import msgspec
import zmq

from whesl import take_own_name
from whesl.model.event_loop_stall import Stoppage
from whesl.runtime.isolator.nodes.lease_table import LeaseTable
from whesl.runtime.locking import procfs
from whesl.runtime.node_agent.memory_locking import stay_resident
from whesl.runtime.node_agent.messages import (
    FROM_AGENT,
    Beat,
    BeatAnswer,
    BeatRefused,
    FromAgent,
    ResponderSetup,
    ToAgent,
)
from whesl.runtime.wire.agent_link import LinkServer, PeerFound, PeerLost

TICK = 0.1  # seconds between updates of the time until which silence counts
ORPHANED = 60.0  # seconds without an isolator and a keeper after which the responder ends


class Responder:
    """The responder.

    Args:
        setup: the responder's setup.
    """

    def __init__(self, setup: ResponderSetup) -> None:
        self._table = LeaseTable(setup.table, setup.nodes)
        self._server: LinkServer[FromAgent | ToAgent] = LinkServer(
            "*", setup.port, setup.keys, FROM_AGENT, listening=setup.listening
        )
        self._attended = time.monotonic()
        self._watched: dict[int, procfs.Watched] = {}  # isolator and keeper, by process number

    def run(self) -> None:
        """Answer heartbeats until neither isolator nor keeper is left."""
        poller = zmq.Poller()
        for sock in self._server.sockets:
            poller.register(sock, zmq.POLLIN)
        stoppage = Stoppage(time.monotonic())
        self._table.since = time.monotonic()
        while self._serves():
            stoppage.waits(time.monotonic() + TICK)
            poller.poll(int(TICK * 1000))
            now = time.monotonic()
            if gap := stoppage.found(now):
                self._attended += gap
                self._table.since = now
            self._answer()
            self._table.tick = time.monotonic()

    def _answer(self) -> None:
        for event in self._server.receive():
            if event.peer not in self._table:
                continue
            if isinstance(event, PeerFound | PeerLost):
                self._table.connect(event.peer, is_open=isinstance(event, PeerFound))
            elif isinstance(event.message, Beat):
                self._server.send(event.peer, self._answer_to(event.peer, event.message))

    def _answer_to(self, node: str, beat: Beat) -> ToAgent:
        if beat.ended:
            self._table.refuse(node, refused=False)
        # The answer to an agent without a lease is not noted, since it may get lost and leave no lease.
        extends = self._table.answer(node, time.monotonic()) if beat.held else not self._table.refused(node)
        return BeatAnswer(number=beat.number) if extends else BeatRefused(number=beat.number)

    def _serves(self) -> bool:
        """Whether an isolator or its keeper lives, or lived within the last ``ORPHANED`` seconds."""
        now = time.monotonic()
        if any(self._lives(pid) for pid in self._table.served if pid):
            self._attended = now
        return now < self._attended + ORPHANED

    def _lives(self, pid: int) -> bool:
        with contextlib.suppress(OSError):
            if pid not in self._watched:
                self._watched[pid] = procfs.Watched(pid)
            return not self._watched[pid].gone()
        return False


def main() -> int:
    """Run the responder."""
    # Signals at the job's time limit are meant for the task; answers are needed until the very end.
    for signum in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
        signal.signal(signum, signal.SIG_IGN)
    setup = msgspec.json.decode(sys.stdin.buffer.read(), type=ResponderSetup)
    responder = Responder(setup)
    stay_resident()
    responder.run()
    return 0


if __name__ == "__main__":
    take_own_name()
    sys.exit(main())
