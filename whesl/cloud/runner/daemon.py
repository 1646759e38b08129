"""The runner's shell: it writes records, carries commands out, and gives their results to the core.

One thread decides and writes. A few other threads for each side make the calls that may take long; they read
a copy of the run's state, which is renewed after each record. A call that failed temporarily is repeated
until it succeeds or is no longer needed.
"""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event as Flag

import msgspec

from whesl.cloud.core.plan_records import Domain
from whesl.cloud.providers.port import NoCapacityError
from whesl.cloud.runner import messages
from whesl.cloud.runner import run_records as r
from whesl.cloud.runner.cluster_and_cloud_executors import Side, final
from whesl.cloud.runner.events_and_commands import (
    Command,
    Copied,
    Copy,
    End,
    Event,
    Forget,
    Heard,
    Looked,
    Refused,
    Seen,
    Send,
    Start,
    Tick,
)
from whesl.cloud.runner.run_records import ExecutorState
from whesl.cloud.runner.state_machine import Core, Outcome
from whesl.cloud.transfer.port import Digest
from whesl.files.decode_errors import UNDECODABLE
from whesl.model.errors import WheslError
from whesl.runtime.journal.sqlite_errors import JournalError
from whesl.runtime.journal.store import Journal

# Journal errors that may pass, and seconds to wait for that.
PASSING, PATIENCE = ("full", "busy", "input-output"), 3600.0
CALLS = 4  # simultaneous calls of each kind for each side
_STOPPED = "it was stopped"
_FORBIDDEN = "the cluster refuses its part"
_Told = tuple[str, str]  # the failing operation, and the reason ('' where it works again)


class Shell:
    """Carries out one run.

    Args:
        core: the run's core, which decides.
        journal: the journal of the run's records.
        sides: the run's sides, by domain.
        scratch: local directory for copies between two remote storages.
        poll: seconds between two looks at each side.
        again: seconds until a call that failed temporarily is repeated.
        notify: called with each record after it is written.
        stop: returns whether the run has to end.
    """

    def __init__(
        self,
        core: Core,
        journal: Journal,
        sides: Mapping[Domain, Side],
        *,
        scratch: Path,
        poll: float = 5.0,
        again: float = 10.0,
        notify: Callable[[r.Record], None] = lambda record: None,
        stop: Callable[[], bool] = lambda: False,
    ) -> None:
        self._core, self._journal, self._sides = core, journal, dict(sides)
        self._view = core.view()
        self._scratch, self._poll, self._again, self._notify = scratch, poll, again, notify
        self._stop = stop
        self._events: queue.Queue[Event | _Told] = queue.Queue()
        self._over = Flag()
        kinds = ("start", "end", "send", "copy", "watch", "listen")
        self._pools = {
            (domain, kind): ThreadPoolExecutor(1 if kind in ("watch", "listen", "send") else CALLS)
            for domain in self._sides
            for kind in kinds
        }

    def run(self) -> bool:
        """Carry the run to its end; return whether all tasks are done.

        Raises JournalError when the journal cannot be written; errors that may pass are waited for during an
        hour. Executors continue, and a new call continues the run.
        """
        try:
            stopped = self._stop()
            self._take(self._core.resume(time.time(), _STOPPED if stopped else ""))
            for domain in self._sides:
                self._pools[domain, "watch"].submit(self._watch, domain)
                self._pools[domain, "listen"].submit(self._listen, domain)
            while not self._core.over:
                try:
                    event = self._events.get(timeout=self._poll)
                except queue.Empty:
                    event = Tick()
                now = time.time()
                if not stopped and self._stop():
                    stopped = True
                    self._take(self._core.stop(_STOPPED, now))
                if isinstance(event, tuple):
                    self._take(self._core.trouble(*event, now))
                else:
                    self._take(self._core.step(event, now))
        finally:
            self._over.set()
            for pool in self._pools.values():
                pool.shutdown(wait=False, cancel_futures=True)
        ended = self._core.state.ended
        return ended is not None and ended.complete

    def _take(self, outcome: Outcome) -> None:
        records, commands = outcome
        if records:
            self._write(records)
            self._view = self._core.view()
        for record in records:
            self._notify(record)
        for command in commands:
            self._carry_out(command)

    def _write(self, records: Sequence[r.Record]) -> None:
        """Write records to the journal; the runner does nothing else while the journal has no room."""
        content = [(r.NAMES[type(one)], one) for one in records]
        limit, waited = time.monotonic() + PATIENCE, False
        while True:
            try:
                self._journal.append_many(content, time.time())
                break
            except JournalError as error:
                if error.reason not in PASSING or time.monotonic() >= limit or self._stop():
                    raise
                if not waited:
                    self._notify(r.Trouble(what="writing down", why=f"{error.message}; the run waits"))
                waited = True
            self._over.wait(self._again)
        if waited:
            self._notify(r.Trouble(what="writing down", over=True))

    def _carry_out(self, command: Command) -> None:
        if isinstance(command, Start):
            self._submit(command.asked.domain, "start", lambda: self._start(command))
        elif isinstance(command, End):
            side = self._sides[command.domain]
            self._submit(command.domain, "end", lambda: side.end(command.id, command.handle))
        elif isinstance(command, Send):
            self._submit(command.domain, "send", lambda: self._send(command))
        elif isinstance(command, Copy):
            self._submit(command.domain, "copy", lambda: self._copy(command))
        elif isinstance(command, Forget):
            store = self._sides[command.domain].store
            self._submit(command.domain, "send", lambda: store.remove(command.names))

    def _submit(self, domain: Domain, kind: str, call: Callable[[], object]) -> None:
        def guarded() -> None:
            try:
                if call() is not False:
                    self._works(domain, kind)
            except (WheslError, OSError) as error:
                self._fails(domain, kind, error)

        self._pools[domain, kind].submit(guarded)

    def _works(self, domain: Domain, kind: str) -> None:
        self._events.put((_what(domain, kind), ""))

    def _fails(self, domain: Domain, kind: str, error: WheslError | OSError) -> None:
        # Every error becomes an event, since the core would wait for ever for a thread that ends silently.
        self._events.put((_what(domain, kind), _said(error)))

    def _start(self, command: Start) -> bool:
        """Start an executor; repeat this until its side accepts or refuses, or the executor's time is over.

        The start of an executor that has to end meanwhile is not repeated; the next look at its side shows
        whether it exists. Returns whether the executor was started.
        """
        asked, called = command.asked, command.again
        side = self._sides[asked.domain]
        while not self._over.is_set():
            view = self._view
            executor = view.executors[asked.id]
            if asked.ends and time.time() >= executor.since + asked.seconds:
                self._events.put(Refused(id=asked.id, why="its time was over before it was started"))
                return False
            if executor.state is ExecutorState.ENDING and not called:
                self._events.put(Refused(id=asked.id, why="no longer needed"))
            if executor.state in (ExecutorState.ENDING, ExecutorState.GONE):
                return False
            if not called and view.forbidden(asked):
                self._events.put(Refused(id=asked.id, why=_FORBIDDEN))
                return False
            if not called and view.must_wait(asked, time.time()):
                self._over.wait(min(self._poll, self._again))
                continue
            called = True
            try:
                handle = side.start(asked)
            except (WheslError, OSError) as error:
                if final(error):
                    self._fails(asked.domain, "start", error)
                    self._events.put(Refused(id=asked.id, why=_said(error)))
                    return False
                self._fails(asked.domain, "start", error)
                # Only NoCapacityError is a certain failure here; after other errors the instance may exist.
                called = not isinstance(error, NoCapacityError)
                self._over.wait(self._again)
                continue
            if not self._view.executors[asked.id].alive:
                # The start was answered after the executor had been given up.
                side.end(asked.id, handle)
                return False
            seen = {asked.id: Seen(state=ExecutorState.WAITING, handle=handle)}
            self._events.put(Looked(domain=asked.domain, began=time.time(), seen=seen))
            return True
        return False

    def _send(self, command: Send) -> None:
        name = messages.message(command.executor, command.assignment.number)
        content = msgspec.json.encode(command.assignment)
        while not self._over.is_set():
            try:
                self._sides[command.domain].store.write(name, content)
                return
            except (WheslError, OSError) as error:
                self._fails(command.domain, "send", error)
                self._over.wait(self._again)

    def _copy(self, command: Copy) -> None:
        began = time.time()
        try:
            digest = self._copied(command)
        except (WheslError, OSError) as error:
            self._events.put(Copied(name=command.name, domain=command.domain, why=str(error)))
            return
        seconds = max(1e-6, time.time() - began)
        self._events.put(Copied(name=command.name, domain=command.domain, digest=digest, seconds=seconds))

    def _copied(self, command: Copy) -> Digest:
        """Copy a file through this machine, directly where one side's storage is a local directory."""
        from whesl.cloud.transfer.directory import DirectoryStore

        name = f"{messages.DATA}/{command.name}"
        other = next(domain for domain in self._sides if domain is not command.domain)
        source, target = self._sides[other].store, self._sides[command.domain].store
        if isinstance(source, DirectoryStore):
            found = target.put(source.path(name), name)
            if found != command.expected:
                raise WheslError(f"{command.name} has changed since it was written")
            return found
        if isinstance(target, DirectoryStore):
            return source.get(name, target.path(name), command.expected)
        here = self._scratch / command.name
        source.get(name, here, command.expected)
        try:
            return target.put(here, name)
        finally:
            here.unlink(missing_ok=True)

    def _watch(self, domain: Domain) -> None:
        """Look at a side's executors periodically."""
        side = self._sides[domain]
        while not self._over.wait(self._poll):
            began = time.time()
            executors = [
                (one.id, one.handle, one.asked.ends)
                for one in self._view.executors.values()
                if one.domain is domain and one.alive
            ]
            try:
                seen = side.look(executors, self._wanted)
            except (WheslError, OSError) as error:
                self._fails(domain, "watch", error)
                continue
            self._works(domain, "watch")
            self._events.put(Looked(domain=domain, began=began, seen=seen))

    def _wanted(self, known_as: str) -> bool:
        """Return whether an executor is recorded and has not ended; called after the look that saw it."""
        executor = self._view.executors.get(known_as)
        return executor is not None and executor.alive

    def _listen(self, domain: Domain) -> None:
        """Read the messages of a side's executors periodically."""
        store = self._sides[domain].store
        while not self._over.wait(self._poll):
            began = time.time()
            try:
                found = store.read_all(messages.SAID)
            except (WheslError, OSError) as error:
                self._fails(domain, "listen", error)
                continue
            said = []
            for content in found.values():
                try:
                    said.append(msgspec.json.decode(content, type=messages.ExecutorReport))
                except UNDECODABLE:
                    continue  # the message is not complete yet
            self._works(domain, "listen")
            self._events.put(Heard(domain=domain, began=began, said=tuple(said)))


def _said(error: WheslError | OSError) -> str:
    return error.message if isinstance(error, WheslError) else str(error)


def _what(domain: Domain, kind: str) -> str:
    doing = {
        "start": "starting executors",
        "end": "ending executors",
        "send": "sending messages",
        "watch": "looking at executors",
        "listen": "reading messages",
        "copy": "copying",
    }
    return f"{doing[kind]}, {domain.value} side"
