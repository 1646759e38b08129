"""The coordinator of a job's checkpoints: the shell of ``core.protocol``.

It serves agents and the command line, writes manifests, and lets all ranks agree on the checkpoint to
restore. After a restart it learns its state again from the agents.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import zmq
from msgspec.structs import replace

from whesl.checkpoints import acknowledged_requests_file, directory_lock, manifest, messages, rendezvous
from whesl.checkpoints.core import protocol, restore
from whesl.checkpoints.core.states_and_events import (
    AbortMigration,
    Answered,
    Ask,
    Command,
    CommitFailed,
    Committed,
    Event,
    Grant,
    Joined,
    Lost,
    Migrate,
    Migrated,
    Predicted,
    Release,
    Requested,
    Seal,
    Sealed,
    Settings,
    Tick,
    Told,
    Withdrawn,
)
from whesl.checkpoints.manifest import Manifest
from whesl.checkpoints.messages import (
    Agreed,
    Candidate,
    Over,
    Reply,
    Slow,
    StatusAsked,
    Stop,
    Verified,
    Written,
)
from whesl.checkpoints.migration import Migration
from whesl.checkpoints.sealing import Sealing
from whesl.model.errors import WheslError
from whesl.runtime.locking import takeover_lock
from whesl.runtime.wire.curve_sockets import ServerSocket
from whesl.runtime.wire.keys import UserKeys
from whesl.runtime.wire.own_addresses import bracketed, own_addresses


def _endpoints(host: str, port: int) -> tuple[str, ...]:
    others, loopback = own_addresses()
    hosts = (*others, *loopback) if host == "*" else (host,)
    return tuple(f"tcp://{bracketed(each)}:{port}" for each in hosts)


def _writable(directory: Path) -> bool:
    return os.access(directory, os.W_OK | os.X_OK)


GONE = 10.0  # seconds after which a node without a connection counts as lost for the checkpoint
FAREWELL = 2.0  # seconds for agents to receive the message that the program has ended
AGENT = b"agent:"
_OF_AGENTS = (Joined, Answered, Committed)  # events that change nothing in the stored acknowledgements


class Service:
    """A job's coordinator with its event loop.

    Args:
        settings: how checkpoints are taken.
        directory: directory of the checkpoints; made if it does not exist.
        home: the job's private directory, for the coordinator's address.
        keys: the user's keys.
        host: address to listen on, ``*`` for all addresses of the machine.
        interval: seconds between two periodic checkpoints; ``inf`` for none.
        keep: number of whole checkpoints that stay.
        migration: migrates nodes.
        log: called with a line of text for each event.

    Raises:
        WheslError: the directory cannot be written, another coordinator uses it, or the coordinator cannot
            listen on the address.
    """

    def __init__(
        self,
        settings: Settings,
        directory: Path,
        home: Path,
        keys: UserKeys,
        *,
        host: str,
        interval: float = math.inf,
        keep: int = 2,
        migration: Migration | None = None,
        log: Callable[[str], None],
    ) -> None:
        self._directory, self._home, self._log = directory, home, log
        self._interval, self._keep = interval, keep
        self._migration = migration or Migration()
        try:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock = directory_lock.take(directory, log) if _writable(directory) else -1
            numbers = manifest.numbers(directory)
            whole = manifest.whole(directory)
            self._known = acknowledged_requests_file.load(home)
        except OSError as error:
            raise WheslError(
                f"checkpoints cannot be kept in {directory}: {error.strerror}",
                hint="name a directory of your own on the shared file system: --dir DIR",
            ) from error
        if not _writable(directory):
            raise WheslError(f"{directory} is not writable", hint="name a directory of your own: --dir DIR")
        last = max(numbers, default=0)
        settings = replace(settings, migration=self._migration.theta)
        self._whole = [found.epoch for found in whole]
        ended = last in (0, *self._whole)
        self._state = protocol.start(settings, last, whole=ended, known=self._known)
        self._unwritten = ""  # error of the last attempt to store acknowledgements, '' for none
        self._sealing = Sealing()
        self._parts: dict[str, Written] = {}
        kept = tuple(restore.Kept(number=found.epoch, ranks=len(found.parts)) for found in whole)
        self._vote = restore.begin(kept)
        self._waits = math.inf  # time at which ranks that have not verified the checkpoint are reported
        self._gone: dict[str, float] = {}
        self._waiting: list[Event] = []
        self._last = time.monotonic()
        self._agents: set[bytes] = set()  # identities of the connected agents
        self._leaves = math.inf  # time at which the coordinator ends, after the program's end
        self._ended: dict[str, Any] | None = None  # result of the last checkpoint
        self._server = ServerSocket(host, 0, keys.coordinator, frozenset({keys.client.public}))
        self.address = rendezvous.Address(
            _endpoints(host, self._server.port),
            keys.coordinator.public,
            str(directory),
            os.getpid(),
            os.uname().nodename,
            os.environ.get("WHESL_TASK", ""),
        )
        rendezvous.publish(home, self.address)

    def run(self, until: Callable[[], bool]) -> None:
        """Serve until a signal or a message ends the coordinator."""
        poller = zmq.Poller()
        for socket in self._server.sockets:
            poller.register(socket, zmq.POLLIN)
        while not until():
            now = time.monotonic()
            if now > self._leaves or (self._leaves < math.inf and not self._agents):
                break
            wait = min(protocol.due(self._state) - now, self._next_interval() - now, 0.5)
            poller.poll(max(int(1000 * wait), 0))
            for peer, content in self._server.receive():
                if content is None:
                    self._disconnected(peer)
                else:
                    self._take(peer, content)
            self._together()
            self._time()

    def close(self) -> None:
        """Close the socket, remove the address, and unlock the directory."""
        self._migration.close()
        self._server.close()
        found = rendezvous.find(self._home)
        if found == self.address:
            (self._home / "address").unlink(missing_ok=True)
        if self._lock >= 0:
            takeover_lock.release(self._lock)

    # Events

    def _time(self) -> None:
        now = time.monotonic()
        for migrated in self._migration.ended():
            if not migrated.why:
                self._log(f"{migrated.node} was migrated")
            settings = replace(self._state.settings, migration=self._migration.theta)
            self._state = replace(self._state, settings=settings)
            self._step(migrated)
        for sealed in self._sealing.ended():
            self._step(sealed)
        if protocol.due(self._state) <= now:
            self._step(Tick())
        late = [node for node, since in self._gone.items() if now - since > GONE]
        for node in late:
            del self._gone[node]
        if late:
            # One transition handles all losses, since ten thousand nodes may be lost at once.
            self._step(*(Lost(node=node, why="its agent is not connected") for node in late))
        self._tell_wait(now)
        if self._next_interval() <= now:
            self._last = now
            if self._state.epoch is None and self._state.nodes:
                self._step(Requested(reason="interval"))

    def _tell_wait(self, now: float) -> None:
        """Log once which ranks delay the restore of all others."""
        if self._vote.agreed != restore.UNKNOWN or now < self._waits:
            return
        self._waits = math.inf
        nodes = ", ".join(sorted(self._state.nodes.keys() - self._vote.heard)) or "their agents"
        self._log(
            f"checkpoint {self._vote.candidate} is not restored yet: {self._vote.good} of"
            f" {self._vote.ranks} ranks have verified it; are all ranks started, and is there an agent on"
            f" each node? Not heard of: {nodes}"
        )

    def _next_interval(self) -> float:
        return self._last + self._interval

    def _disconnected(self, peer: bytes) -> None:
        self._agents.discard(peer)
        if peer.startswith(AGENT):
            self._gone[peer[len(AGENT) :].decode()] = time.monotonic()

    def _take(self, peer: bytes, content: bytes) -> None:
        try:
            message = messages.to_coordinator(content)
        except WheslError as error:
            self._server.send(peer, messages.encode(Reply(text=str(error), refused=True)))
            return
        match message:
            case Joined():
                self._gone.pop(message.node, None)
                self._agents.add(peer)
                self._step(message)
                self._tell_restore(peer)
                self._voted(*restore.joined(self._vote, message.of))
            case Written():
                self._parts[message.node] = message
                self._waiting.append(Committed(node=message.node, epoch=message.epoch))
            case Answered():
                self._waiting.append(message)
            case Verified():
                answer = restore.Answer(number=message.epoch, good=message.good, bad=message.bad)
                self._voted(*restore.verified(self._vote, message.node, answer))
            case CommitFailed():
                self._step(message)
            case Slow():
                self._tell_slow(message)
            case Predicted() | Withdrawn() | Requested() | Lost():
                self._server.send(peer, messages.encode(self._answer(message)))
            case StatusAsked():
                self._server.send(peer, messages.encode(Reply(status=self.status())))
            case Stop():
                self._leaves = time.monotonic() + FAREWELL
                self._server.send(peer, messages.encode(Reply(text="stopped")))
                for agent in self._agents:
                    self._server.send(agent, messages.encode(Over()))

    def _answer(self, message: Predicted | Withdrawn | Requested | Lost) -> Reply:
        """Handle a message and return the answer; acknowledged messages are stored before the answer."""
        told = [each for each in self._step(message) if isinstance(each, Told)]
        refused = [each for each in told if each.refused]
        text = "; ".join(each.text for each in refused or told) or "taken"
        if not refused and self._unwritten:
            text = f"{text}; this could not be written down: {self._unwritten}"
        failed = bool(refused or self._unwritten)
        return Reply(text=text, refused=failed, status=self.status())

    def _tell_slow(self, slow: Slow) -> None:
        """Log which writing ranks delay all others, since a file system may hang."""
        ranks = ", ".join(map(str, slow.ranks))
        self._log(
            f"still writing after {slow.seconds:g} s: rank {ranks} on {slow.node}; the checkpoint is given up"
            f" {self._state.settings.commit:g} s after they began (--commit)"
        )

    def _together(self) -> None:
        """Pass messages that arrived together to the core as one batch."""
        if self._waiting:
            self._step()

    def _step(self, *events: Event) -> list[Command]:
        taken, self._waiting = [*self._waiting, *events], []
        self._state, commands = protocol.steps(self._state, taken, time.monotonic())
        if not all(isinstance(event, _OF_AGENTS) for event in taken):
            self._write_down()
        for command in commands:
            self._perform(command)
        return commands

    def _write_down(self) -> None:
        """Store predictions and requests before they are acknowledged."""
        known = protocol.known(self._state)
        if known == self._known and not self._unwritten:
            return
        try:
            acknowledged_requests_file.save(self._home, known)
            self._known, self._unwritten = known, ""
        except OSError as error:
            self._unwritten = f"{self._home}: {error.strerror}"

    # Commands

    def _perform(self, command: Command) -> None:
        match command:
            case Ask(nodes=nodes) | Grant(nodes=nodes) | Release(nodes=nodes):
                if isinstance(command, Release) and not command.complete and command.epoch in self._whole:
                    # The agent missed the end of a checkpoint that had become whole.
                    command = replace(command, complete=True, why="")
                elif isinstance(command, Ask):
                    self._prepare(command)
                elif isinstance(command, Release):
                    self._over(command)
                # Messages omit the node names, whose total size would grow with the nodes' number squared.
                content = messages.encode(replace(command, nodes=()))
                for node in nodes:
                    self._server.send(AGENT + node.encode(), content)
            case Seal():
                self._seal(command)
            case Migrate(node=node):
                self._log(f"{node} is migrated")
                if why := self._migration.begin(node):
                    self._step(Migrated(node=node, why=why))
            case AbortMigration(node=node, why=why):
                self._log(f"the migration of {node} is aborted: {why}")
                self._migration.abort(node)
            case Told(text=text):
                self._log(text)

    def _prepare(self, ask: Ask) -> None:
        try:
            if ask.round == 1:
                epoch = self._state.epoch
                self._log(f"checkpoint {ask.epoch} begins ({epoch.reason if epoch else ''})")
                if self._directory.is_dir():
                    manifest.remove_unfinished(self._directory, ask.epoch)
            manifest.begin(self._directory, ask.epoch)
        except OSError as error:
            node = ask.nodes[0] if ask.nodes else ""
            self._step(CommitFailed(node=node, epoch=ask.epoch, why=f"{self._directory}: {error.strerror}"))

    def _seal(self, seal: Seal) -> None:
        epoch = self._state.epoch
        assert epoch is not None
        told = [self._parts[node] for node in seal.nodes if node in self._parts]
        parts = tuple(part for each in told if each.epoch == seal.epoch for part in each.parts)
        if len(parts) != seal.of:
            self._step(Sealed(epoch=seal.epoch, why=f"it has parts of {len(parts)} of {seal.of} ranks"))
        else:
            made = Manifest(seal.epoch, epoch.target, parts, seal.reason)
            self._sealing.begin(self._directory, made, self._step)

    def _over(self, release: Release) -> None:
        if self._ended is not None and release.epoch <= self._ended["number"]:
            return  # the release was repeated for an agent that reconnected
        self._last = time.monotonic()
        self._ended = {"number": release.epoch, "whole": release.complete, "why": release.why}
        if not release.complete:
            with suppress(OSError):  # the removal is repeated at the next checkpoint
                manifest.clear(self._directory, release.epoch)
            self._log(f"checkpoint {release.epoch} was given up: {release.why}")
            return
        self._log(f"checkpoint {release.epoch} is complete")
        self._whole.insert(0, release.epoch)
        try:
            spared = {self._vote.candidate, self._vote.agreed}
            gone = manifest.remove_old(self._directory, self._keep, spared)
        except OSError as error:
            self._log(f"old checkpoints stay: {error}")
        else:
            if gone:
                self._log(f"removed old checkpoints {', '.join(map(str, gone))}")

    # Which checkpoint to restore

    def _voted(self, vote: restore.Vote, said: list[str]) -> None:
        """Store the new vote on the checkpoint to restore, and send changes to the agents."""
        before, self._vote = self._vote, vote
        for text in said:
            self._log(text)
        if vote.heard and vote.agreed == restore.UNKNOWN:
            self._waits = time.monotonic() + self._state.settings.arrival
        if (before.candidate, before.agreed) != (vote.candidate, vote.agreed):
            for node in self._state.nodes:
                self._tell_restore(AGENT + node.encode())

    def _tell_restore(self, peer: bytes) -> None:
        if self._vote.candidate:
            self._server.send(peer, messages.encode(Candidate(epoch=self._vote.candidate)))
        if self._vote.agreed != restore.UNKNOWN:
            self._server.send(peer, messages.encode(Agreed(epoch=self._vote.agreed)))

    def _is_there(self, number: int) -> bool:
        """Return whether a checkpoint still exists; True where this cannot be examined."""
        try:
            (self._directory / str(number) / manifest.NAME).stat()
        except FileNotFoundError:
            return False
        except OSError:
            return True
        return True

    def status(self) -> dict[str, object]:
        """Return the coordinator's state, for output as text and JSON."""
        now = time.monotonic()
        epoch = self._state.epoch
        # Removed checkpoints must not be listed, since a node whose state is in a whole one may be given up.
        if epoch is None:
            self._whole = [number for number in self._whole if self._is_there(number)]
        return {
            "directory": str(self._directory),
            "checkpoints": self._whole,
            "ended": self._ended,
            "silent": [name for name in self._state.nodes if AGENT + name.encode() not in self._agents],
            "tried_again": self._state.again < math.inf,
            "checkpoint": None
            if epoch is None
            else {
                "number": epoch.number,
                "phase": epoch.phase.value,
                "step": epoch.target,
                "reason": epoch.reason,
            },
            "nodes": {
                name: {
                    "phase": node.phase.value,
                    "ranks": node.ranks,
                    "fails_in": None if node.fails_at == math.inf else round(node.fails_at - now, 3),
                }
                for name, node in self._state.nodes.items()
            },
        }
