"""The agent of one node, which connects the coordinator with the ranks' page."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import zmq

from whesl.checkpoints import messages, rank_shared_memory
from whesl.checkpoints.core.states_and_events import Answered, Ask, CommitFailed, Grant, Joined, Release
from whesl.checkpoints.manifest import Part
from whesl.checkpoints.messages import Agreed, Candidate, Over, Slow, Verified, Written
from whesl.checkpoints.rank_shared_memory import Page, Slot, SlotState
from whesl.checkpoints.rank_writes import Writing
from whesl.checkpoints.rendezvous import Address, find
from whesl.runtime.wire.curve_sockets import ClientSocket
from whesl.runtime.wire.keys import KeyPair

# Seconds between two looks at the page: while a checkpoint is taken, after a change, and without changes.
BUSY, CALM, REST = 0.001, 0.02, 0.5
SETTLE = 0.05  # seconds that a rank at the target has to report that it holds
LOOK = 3.0  # seconds between two looks for the coordinator's address, and for connecting


class Agent:
    """An agent and its loop.

    Args:
        node: the node's name.
        sheet: the page that the node's ranks share.
        home: the job's private directory, with the coordinator's address.
        keys: the client's key pair.
        log: called with a line of text for each event.
    """

    def __init__(self, node: str, sheet: Page, home: Path, keys: KeyPair, log: Callable[[str], None]) -> None:
        self._node, self._page, self._home, self._log = node, sheet, home, log
        self._socket = ClientSocket(keys, f"agent:{node}".encode())
        self._address: Address | None = None
        self._looked = 0.0
        self._tried = 0
        self._asked: Ask | None = None
        self._settled_by = self._arrived_by = 0.0
        self._told = 0  # the last checkpoint whose success or failure on this node was reported
        self._verified = Verified(node=node, epoch=0, good=0, bad=0)
        # The last registration: numbers of ranks and of ended ranks, and whether ranks write one file.
        self._joined = (-1, -1, False)
        self._writing: Writing | None = None  # None while the ranks may not write
        self._over = False
        self._heard = 0.0  # time of the coordinator's last message
        self._moved = time.monotonic()  # time of the ranks' last change

    def run(self, until: Callable[[], bool]) -> None:
        """Serve until told to stop, by a signal or the coordinator."""
        poller = zmq.Poller()
        for socket in self._socket.sockets:
            poller.register(socket, zmq.POLLIN)
        while not until() and not self._over:
            self._find()
            busy = self._asked is not None or self._in_epoch()
            # The pauses between looks grow while nothing happens, to leave the processor to the program.
            now = time.monotonic()
            if busy:
                wait = min(max((now - self._heard) / 50, BUSY), CALM)
            else:
                wait = min(max((now - max(self._heard, self._moved)) / 50, CALM), REST)
            poller.poll(int(1000 * wait))
            for made in self._socket.events():
                if made:
                    self._join()
            for content in self._socket.receive():
                self._heard = time.monotonic()
                self._take(messages.from_coordinator(content))
            self._look()
            self._page.beat()

    def close(self) -> None:
        """Close the socket. The page stays, since another agent of this node may use it."""
        self._socket.close()

    def _find(self) -> None:
        """Connect to the coordinator, whose address changes when it is started again."""
        now = time.monotonic()
        if self._socket.connected or now - self._looked < LOOK:
            return
        self._looked = now
        address = find(self._home)
        if address is None:
            return
        if address != self._address:
            self._address, self._tried = address, 0
        endpoint = address.endpoints[self._tried % len(address.endpoints)]
        self._tried += 1
        if endpoint != self._socket.endpoint:
            self._socket.connect(endpoint, address.key)

    def _in_epoch(self) -> bool:
        return self._page.get(rank_shared_memory.TARGET) != rank_shared_memory.IDLE

    def _join(self) -> None:
        """Register this node, with the state of a checkpoint that is under way."""
        ranks, ended = self._page.registered()
        epoch = self._page.get(rank_shared_memory.EPOCH) if self._in_epoch() else 0
        target = self._page.get(rank_shared_memory.TARGET) if self._in_epoch() else 0
        committed = bool(epoch and ranks) and all(
            slot.state is SlotState.COMMITTED and slot.epoch == epoch for slot in ranks
        )
        self._joined = len(ranks), ended, _together(ranks)
        if committed:
            self._send(self._written(epoch))
        self._send(
            Joined(
                node=self._node,
                ranks=len(ranks),
                of=max((slot.ranks for slot in ranks), default=0),
                ended=ended,
                epoch=epoch,
                target=target,
                committed=committed,
                together=_together(ranks),
            )
        )
        if self._verified.epoch:
            self._send(self._verified)

    def _take(self, message: messages.FromCoordinator) -> None:
        sheet = self._page
        match message:
            case Ask(target=0):
                sheet.put(rank_shared_memory.TARGET, rank_shared_memory.IDLE)
                top = max((slot.polls for slot in sheet.ranks()), default=0)
                self._send(Answered(node=self._node, epoch=message.epoch, round=message.round, top=top))
            case Ask() if sheet.get(rank_shared_memory.RELEASED) >= message.epoch:
                why = "its ranks went on before the coordinator was started anew"
                self._send(CommitFailed(node=self._node, epoch=message.epoch, why=why))
            case Ask():
                sheet.put(rank_shared_memory.EPOCH, message.epoch)
                sheet.put(rank_shared_memory.TARGET, message.target)
                self._asked = message
                self._settled_by = time.monotonic() + SETTLE
                self._arrived_by = time.monotonic() + message.arrival
            case Grant():
                if (sheet.get(rank_shared_memory.EPOCH), sheet.get(rank_shared_memory.TARGET)) == (
                    message.epoch,
                    message.target,
                ):
                    sheet.put(rank_shared_memory.GRANTED, message.epoch)
                    self._writing = Writing(message.arrival, message.commit, time.monotonic())
            case Release():
                sheet.put(rank_shared_memory.RELEASED, message.epoch)
                sheet.put(rank_shared_memory.TARGET, rank_shared_memory.IDLE)
                self._asked = self._writing = None
            case Over():
                self._over = True
            case Candidate():
                sheet.put(rank_shared_memory.CANDIDATE, message.epoch or rank_shared_memory.IDLE)
            case Agreed():
                sheet.put(rank_shared_memory.AGREED, message.epoch or rank_shared_memory.IDLE)
            case _:
                self._log(f"ignored: {message}")

    def _look(self) -> None:
        """Report what the ranks have done since the last look."""
        ranks, ended = self._page.registered()
        if self._socket.connected and (len(ranks), ended, _together(ranks)) != self._joined:
            self._moved = time.monotonic()
            self._join()
        if self._asked is not None:
            self._answer(self._asked)
        if self._in_epoch():
            self._written_or_failed()
        self._restored()

    def _answer(self, ask: Ask) -> None:
        """Answer a round as soon as it is certain whether a rank has passed the target."""
        standing = passed = False
        top = 0
        for slot in self._page.ranks():
            top = max(top, slot.polls)
            passed |= slot.polls > ask.target
            holds = slot.state in (SlotState.HOLDING, SlotState.WRITING, SlotState.COMMITTED)
            if slot.polls == ask.target and not (holds and slot.target == ask.target):
                standing = True
        late = time.monotonic() >= self._settled_by
        if standing and not late and not passed:
            return
        # A rank at the target that does not hold has polled before the target was set, and goes on.
        self._asked = None
        self._send(
            Answered(node=self._node, epoch=ask.epoch, round=ask.round, top=top, passed=passed or standing)
        )

    def _written_or_failed(self) -> None:
        sheet = self._page
        epoch = sheet.get(rank_shared_memory.EPOCH)
        if self._told == epoch:
            return
        ranks = list(sheet.ranks())
        unwritten = [
            slot for slot in ranks if not (slot.state is SlotState.COMMITTED and slot.epoch == epoch)
        ]
        # Slow ranks are reported first, since a delayed agent may find a rank slow and failed in one look.
        if self._writing is not None and (slow := self._writing.slow(unwritten, time.monotonic())):
            seconds = self._writing.arrival
            self._send(Slow(node=self._node, epoch=epoch, ranks=slow, seconds=seconds))
        if self._writing is not None and (why := self._writing.trouble(unwritten, time.monotonic())):
            self._told = epoch
            self._send(CommitFailed(node=self._node, epoch=epoch, why=why))
            return
        for slot in ranks:
            failed = slot.state is SlotState.FAILED and slot.epoch == epoch
            late = slot.polls < sheet.get(rank_shared_memory.TARGET) and time.monotonic() > self._arrived_by
            durable = slot.state is SlotState.COMMITTED and slot.epoch == epoch
            if failed or late or not (durable or rank_shared_memory.alive(slot.pid)):
                why = slot.text if failed else f"process {slot.pid} has ended"
                if late and not failed:
                    step = sheet.get(rank_shared_memory.TARGET)
                    why = f"it has not come to step {step} in time: does it poll?"
                self._told = epoch
                self._send(CommitFailed(node=self._node, epoch=epoch, why=f"rank {slot.rank}: {why}"))
                return
        done = [slot for slot in ranks if slot.state is SlotState.COMMITTED and slot.epoch == epoch]
        if sheet.get(rank_shared_memory.GRANTED) == epoch and len(done) == len(ranks) == self._joined[0]:
            self._told = epoch
            self._send(self._written(epoch))

    def _written(self, epoch: int) -> Written:
        parts = tuple(
            Part(slot.rank, slot.bytes, slot.checksum, slot.text)
            for slot in self._page.ranks()
            if slot.state is SlotState.COMMITTED and slot.epoch == epoch
        )
        return Written(node=self._node, epoch=epoch, parts=parts)

    def _restored(self) -> None:
        candidate = self._page.get(rank_shared_memory.CANDIDATE)
        if (
            candidate in (0, rank_shared_memory.IDLE)
            or self._page.get(rank_shared_memory.AGREED) == candidate
        ):
            return
        answers = [slot.verified for slot in self._page.ranks() if slot.verified // 2 == candidate]
        good = sum(answer % 2 for answer in answers)
        now = Verified(node=self._node, epoch=candidate, good=good, bad=len(answers) - good)
        # An answer may also be withdrawn, by a rank that gave up waiting.
        if now != self._verified and (answers or self._verified.epoch == candidate):
            self._verified, self._moved = now, time.monotonic()
            self._send(now)

    def _send(self, message: messages.ToCoordinator) -> None:
        # ``_join`` repeats messages that a lost connection did not deliver.
        self._socket.send(messages.encode(message))


def _together(ranks: list[Slot]) -> bool:
    """Return whether the ranks write one shared file."""
    return any(slot.shared for slot in ranks)
