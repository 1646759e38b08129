"""The coordinator of a job's checkpoints: the shell of ``core.protocol``.

It listens for agents and for the command line, writes manifests, and lets all ranks agree on the checkpoint
to restore. What it knows it learns again from the agents when it is started anew.
"""

from __future__ import annotations

import math
import os
import time
from typing import TYPE_CHECKING, Any

import zmq
from msgspec.structs import replace

from whesl.ckpt import manifest, messages, rendezvous
from whesl.ckpt.core import protocol
from whesl.ckpt.core.states_and_events import (
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
    NodePhase,
    Predicted,
    Release,
    Requested,
    Seal,
    Sealed,
    Settings,
    Tick,
    Told,
)
from whesl.ckpt.manifest import Manifest
from whesl.ckpt.messages import Agreed, Candidate, Reply, StatusAsked, Stop, Verified, Warned, Written
from whesl.ckpt.migration import Migration
from whesl.model.errors import WheslError
from whesl.wire.curve_sockets import ServerSocket
from whesl.wire.own_addresses import bracketed, own_addresses

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from whesl.wire.keys import UserKeys


def _endpoints(host: str, port: int) -> tuple[str, ...]:
    others, loopback = own_addresses()
    hosts = (*others, *loopback) if host == "*" else (host,)
    return tuple(f"tcp://{bracketed(each)}:{port}" for each in hosts)


GONE = 10.0  # seconds without a connection after which a node counts as lost for its checkpoint
AGENT = b"agent:"


class Service:
    """A job's coordinator and its loop.

    Args:
        settings: how checkpoints are taken.
        directory: where they are; made if it is not there.
        home: the job's private directory, for the address.
        keys: the user's.
        host: address to listen on, ``*`` for all of the machine.
        interval: seconds between two periodic checkpoints; ``inf`` for none.
        keep: whole checkpoints that stay.
        migration: what moves a node's processes.
        log: is told what happens, a line each.

    Raises:
        WheslError: the directory cannot be written, or the address cannot be listened on.
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
            known = manifest.numbers(directory)
            self._whole = [found.epoch for found in manifest.whole(directory)]
        except OSError as error:
            raise WheslError(
                f"checkpoints cannot be kept in {directory}: {error.strerror}",
                hint="name a directory of your own on the shared file system: --dir DIR",
            ) from error
        if not os.access(directory, os.W_OK | os.X_OK):
            raise WheslError(f"{directory} is not writable", hint="name a directory of your own: --dir DIR")
        last = max(known, default=0)
        settings = replace(settings, migration=self._migration.theta)
        self._state = protocol.start(settings, last, whole=last in (0, *self._whole))
        self._parts: dict[str, Written] = {}
        self._verified: dict[str, Verified] = {}
        self._candidate = self._whole[0] if self._whole else 0
        self._agreed = -1  # not known yet
        self._verifying = 0, 0, math.inf  # ranks that have, ranks that there are, when the wait is told
        self._slow = math.inf  # when it is told which nodes still write
        self._gone: dict[str, float] = {}
        self._waiting: list[Event] = []
        self._began = time.monotonic()
        self._last = self._began
        self._stopping = False
        self._ended: dict[str, Any] | None = None  # how the last checkpoint ended
        self._begun: dict[int, float] = {}  # when the present checkpoint began
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
        """Serve until told to stop."""
        poller = zmq.Poller()
        for socket in self._server.sockets:
            poller.register(socket, zmq.POLLIN)
        while not until() and not self._stopping:
            now = time.monotonic()
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
        """Close the socket and take the address away."""
        self._migration.close()
        self._server.close()
        found = rendezvous.find(self._home)
        if found == self.address:
            (self._home / "address").unlink(missing_ok=True)

    # Events

    def _time(self) -> None:
        now = time.monotonic()
        for migrated in self._migration.ended():
            if not migrated.why:
                self._log(f"{migrated.node} was migrated")
            settings = replace(self._state.settings, migration=self._migration.theta)
            self._state = replace(self._state, settings=settings)
            self._step(migrated)
        if protocol.due(self._state) <= now:
            self._step(Tick())
        late = [node for node, since in self._gone.items() if now - since > GONE]
        for node in late:
            del self._gone[node]
        if late:
            # As one transition: ten thousand may go at once.
            self._step(*(Lost(node=node, why="its agent is not connected") for node in late))
        self._tell_wait(now)
        self._tell_slow(now)
        if self._next_interval() <= now:
            self._last = now
            if self._state.epoch is None and self._state.nodes:
                self._step(Requested(reason="interval"))

    def _tell_wait(self, now: float) -> None:
        """Say once which ranks all others wait for before they restore."""
        good, ranks, until = self._verifying
        if self._agreed < 0 and until <= now:
            self._verifying = good, ranks, math.inf
            nodes = ", ".join(sorted(self._state.nodes.keys() - self._verified.keys())) or "their agents"
            self._log(
                f"checkpoint {self._candidate} is not restored yet: {good} of its {ranks} ranks have verified"
                f" it; are all ranks started, and is there an agent on each node? Not heard of: {nodes}"
            )

    def _tell_slow(self, now: float) -> None:
        """Say once which nodes all others wait for while they write: a file system may hang."""
        if self._slow > now:
            return
        self._slow = math.inf
        writing = (name for name, node in self._state.nodes.items() if node.phase is NodePhase.COMMITTING)
        if names := ", ".join(sorted(writing)):
            settings = self._state.settings
            self._log(
                f"still writing after {settings.arrival:g} s: {names}; the checkpoint is given up"
                f" {settings.commit:g} s after they began (--commit)"
            )

    def _next_interval(self) -> float:
        return self._last + self._interval

    def _disconnected(self, peer: bytes) -> None:
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
                self._step(replace(message, fails_at=time.monotonic() + message.fails_at))
                self._tell_restore(peer)
            case Written():
                self._parts[message.node] = message
                self._waiting.append(Committed(node=message.node, epoch=message.epoch))
            case Answered():
                self._waiting.append(message)
            case Verified():
                self._verified[message.node] = message
                self._vote()
            case CommitFailed():
                self._step(message)
            case Predicted() | Requested() | Lost():
                told = [each for each in self._step(message) if isinstance(each, Told)]
                refused = [each for each in told if each.refused]
                text = "; ".join(each.text for each in refused or told) or "taken"
                if isinstance(message, Predicted) and not refused:
                    self._server.send(
                        AGENT + message.node.encode(), messages.encode(Warned(lead=message.lead))
                    )
                reply = Reply(text=text, refused=bool(refused), status=self.status())
                self._server.send(peer, messages.encode(reply))
            case StatusAsked():
                self._server.send(peer, messages.encode(Reply(status=self.status())))
            case Stop():
                self._stopping = True
                self._server.send(peer, messages.encode(Reply(text="stopped")))

    def _together(self) -> None:
        """Give what many agents have said at once to the core as one."""
        if self._waiting:
            self._step()

    def _step(self, *events: Event) -> list[Command]:
        taken, self._waiting = [*self._waiting, *events], []
        self._state, commands = protocol.steps(self._state, taken, time.monotonic())
        for command in commands:
            self._perform(command)
        return commands

    # Commands

    def _perform(self, command: Command) -> None:
        match command:
            case Ask(nodes=nodes) | Grant(nodes=nodes) | Release(nodes=nodes):
                if isinstance(command, Release) and not command.complete and command.epoch in self._whole:
                    command = replace(
                        command, complete=True, why=""
                    )  # an agent that had not heard of its end
                elif isinstance(command, Ask):
                    self._prepare(command)
                elif isinstance(command, Grant):
                    self._slow = time.monotonic() + self._state.settings.arrival
                elif isinstance(command, Release):
                    self._over(command)
                # The names of all nodes in a message to each would grow with their square.
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
        if ask.round == 1:
            self._begun = {ask.epoch: time.monotonic()}
            epoch = self._state.epoch
            self._log(f"checkpoint {ask.epoch} begins ({epoch.reason if epoch else ''})")
        try:
            self._directory.mkdir(
                mode=0o700, exist_ok=True
            )  # it may have been removed; what it was in was not
            (self._directory / str(ask.epoch)).mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            node = ask.nodes[0] if ask.nodes else ""
            self._step(CommitFailed(node=node, epoch=ask.epoch, why=f"{self._directory}: {error.strerror}"))

    def _seal(self, seal: Seal) -> None:
        epoch = self._state.epoch
        assert epoch is not None
        told = [self._parts[node] for node in seal.nodes if node in self._parts]
        parts = tuple(part for each in told if each.epoch == seal.epoch for part in each.parts)
        why = "" if len(parts) == seal.of else f"it has parts of {len(parts)} of {seal.of} ranks"
        # Not known where an earlier coordinator had begun it.
        took = time.monotonic() - self._begun[seal.epoch] if seal.epoch in self._begun else 0.0
        try:
            if not why:
                manifest.write(self._directory, Manifest(seal.epoch, epoch.target, parts, seal.reason, took))
        except (OSError, ValueError) as error:
            why = f"the manifest cannot be written: {error}"
        self._step(Sealed(epoch=seal.epoch, why=why))

    def _over(self, release: Release) -> None:
        if self._ended is not None and release.epoch <= self._ended["number"]:
            return  # told again to an agent that came back
        self._last = time.monotonic()
        self._ended = {"number": release.epoch, "whole": release.complete, "why": release.why}
        if not release.complete:
            self._log(f"checkpoint {release.epoch} was given up: {release.why}")
            return
        self._log(f"checkpoint {release.epoch} is complete")
        self._whole.insert(0, release.epoch)
        try:
            gone = manifest.remove_old(self._directory, self._keep, {self._candidate, self._agreed})
        except OSError as error:
            self._log(f"old checkpoints stay: {error}")
        else:
            if gone:
                self._log(f"removed old checkpoints {', '.join(map(str, gone))}")

    # Which checkpoint to restore

    def _vote(self) -> None:
        """Agree on the candidate when all ranks have found it whole; go to an older one when one has not."""
        if self._agreed >= 0:
            return
        answers = [answer for answer in self._verified.values() if answer.epoch == self._candidate]
        found = manifest.read(self._directory / str(self._candidate))
        ranks = len(found.parts) if found is not None else 0
        if found is None or any(answer.bad for answer in answers):
            older = [number for number in self._whole if number < self._candidate]
            self._log(
                f"checkpoint {self._candidate} is damaged; {'an older one' if older else 'none'} is left"
            )
            self._candidate = older[0] if older else 0
            self._agreed = -1 if older else 0
        elif (good := sum(answer.good for answer in answers)) == ranks:
            self._agreed = self._candidate
            self._log(f"checkpoint {self._agreed} is restored")
        else:
            self._verifying = good, ranks, time.monotonic() + self._state.settings.arrival
            return
        for node in self._state.nodes:
            self._tell_restore(AGENT + node.encode())

    def _tell_restore(self, peer: bytes) -> None:
        if self._candidate == 0:
            self._agreed = 0
        if self._candidate:
            self._server.send(peer, messages.encode(Candidate(epoch=self._candidate)))
        if self._agreed >= 0:
            self._server.send(peer, messages.encode(Agreed(epoch=self._agreed)))

    def _is_there(self, number: int) -> bool:
        """Whether a checkpoint has not been removed; one that cannot be looked at has not."""
        try:
            (self._directory / str(number) / manifest.NAME).stat()
        except FileNotFoundError:
            return False
        except OSError:
            return True
        return True

    def status(self) -> dict[str, object]:
        """Return what is known, for people and programs."""
        now = time.monotonic()
        epoch = self._state.epoch
        if epoch is None:  # a node whose state is in one of them may be given up for that
            self._whole = [number for number in self._whole if self._is_there(number)]
        return {
            "directory": str(self._directory),
            "checkpoints": self._whole,
            "ended": self._ended,
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
