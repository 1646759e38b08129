"""The near end of the bridge to Flux: requests go to Flux through a separate process.

WHESL's daemons import no module of Flux: Flux's reactor and locks would stall the daemons' heartbeats, its
library has to match the site's exact version, and its crash would be the daemon's. So ``bridge_program`` runs
under the Python that Flux was built for (``flux python``, as Flux's own commands do), and both sides exchange
JSON lines over pipes.

When the program dies, open calls raise CouldNotObserveError, the next call starts another program, and
listening resumes after the last event; at most STARTS times a minute.
"""

from __future__ import annotations

import contextlib
import errno
import json
import logging
import os
import select
import signal
import subprocess
import tempfile
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from whesl.managers.resource import command_call
from whesl.model.errors import CouldNotObserveError, RefusedError, TransientError, WheslError

LOG = logging.getLogger(__name__)
# Seconds for a call; longer than the program itself waits for a service of the instance.
TIMEOUT = 35.0
# The most starts of the program within a minute.
STARTS = 5
_MINUTE = 60.0
PROGRAM = ("flux", "python", str(Path(__file__).with_name("bridge_program.py")))
MODULES = ("bridge_base", "bridge_records")  # what the program imports beside it
_HINT = "does `flux uptime` answer here?"
# Seconds after which a program without calls or listening is ended: well above the pause between two looks at
# the nodes, and long enough that single calls start a program at most twice a minute.
IDLE = 20.0
# The most events that are kept, so that events that are never fetched do not fill the memory.
_KEPT = 10_000


def portable_program() -> tuple[str, ...]:
    """Return the program's command line for a host without WHESL: its source is an argument."""
    place = Path(__file__).parent
    modules = {name: (place / f"{name}.py").read_text() for name in MODULES}
    source = (
        "import sys, types\n"
        f"for name, text in {modules!r}.items():\n"
        "    sys.modules[name] = types.ModuleType(name)\n"
        "    exec(text, sys.modules[name].__dict__)\n"
        f"exec({Path(PROGRAM[-1]).read_text()!r})"
    )
    return ("flux", "python", "-c", source)


class FluxRefusedError(RefusedError):
    """Flux refused an operation; ``code`` is Flux's errno."""

    def __init__(self, message: str, *, code: int, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.code = code


def failure(operation: str, code: int, text: str) -> WheslError:
    """Return the error to raise for an operation that Flux has answered with an error.

    Args:
        operation: the operation's name.
        code: Flux's errno, 0 for none.
        text: Flux's message; empty takes the errno's.
    """
    message = f"flux: {operation}: {text or os.strerror(code)}"
    if code in (errno.EAGAIN, errno.EBUSY):
        return TransientError(message)
    unseen = (
        0,
        errno.ETIMEDOUT,
        errno.EHOSTUNREACH,
        errno.ECONNREFUSED,
        errno.ECONNRESET,
        errno.EPIPE,
        errno.ENOSYS,
    )
    if code in unseen:
        return CouldNotObserveError(message, hint=_HINT)
    return FluxRefusedError(message, code=code)


class _Life:
    """One process of the bridge's program."""

    def __init__(self, process: subprocess.Popen[bytes], complaints: IO[bytes]) -> None:
        self.process = process
        self.complaints = complaints
        self.ended = False
        self.greeted = threading.Event()
        self.pending: dict[int, tuple[threading.Event, list[dict[str, Any]]]] = {}

    def complaint(self) -> str:
        """Return the last line that the program wrote to standard error."""
        with contextlib.suppress(OSError, ValueError):
            self.complaints.seek(0)
            lines = self.complaints.read()[-2000:].decode("utf-8", "replace").strip().splitlines()
            return lines[-1] if lines else ""
        return ""


class Bridge:
    """The bridge's client. Thread-safe.

    Args:
        environ: environment of the program; PATH in it finds ``flux``.
        uri: the instance's address; empty takes FLUX_URI from ``environ``, or the system's instance.
        timeout: seconds after which a call counts as unanswered.
        idle: seconds without a call after which the program is ended, unless it listens; the next call starts
            another. None keeps the program.
        program: command line of the program; tests replace it.
    """

    def __init__(
        self,
        environ: Mapping[str, str],
        uri: str = "",
        *,
        timeout: float = TIMEOUT,
        idle: float | None = None,
        program: Sequence[str] = PROGRAM,
    ) -> None:
        self._environ = dict(environ)
        self._program = [*program, *([uri] if uri else [])]
        self._timeout = timeout
        self._idle = idle
        self._used = 0.0
        self._lock = threading.RLock()
        self._life: _Life | None = None
        self._starts: deque[float] = deque(maxlen=STARTS)
        self._number = 0
        self._closed = threading.Event()
        self._told: deque[dict[str, Any]] = deque(maxlen=_KEPT)
        self._signal: int | None = None
        self._listening = False
        self._wanted: dict[str, Any] = {}
        self._since = 0.0

    def call(self, operation: str, *, within: float | None = None, **fields: Any) -> Any:
        """Return the answer to an operation of the program.

        Args:
            operation: the operation's name.
            within: seconds to wait, after which a late answer is only dropped. None waits for the bridge's
                timeout and then ends a program that has not answered; the next call starts another.
            fields: the operation's arguments.

        Raises CouldNotObserveError, FluxRefusedError, TransientError.
        """
        life = self._living()
        answered = threading.Event()
        answer: list[dict[str, Any]] = []
        deadline = time.monotonic() + (self._timeout if within is None else within)
        with self._lock:
            self._number += 1
            number = self._number
            life.pending[number] = (answered, answer)
            line = json.dumps({"id": number, "op": operation, **fields}).encode() + b"\n"
            sent = _write(life, line, deadline)
        if sent and not life.ended:
            answered.wait(max(0.0, deadline - time.monotonic()))
        life.pending.pop(number, None)
        if answer:
            if "ok" in answer[0]:
                return answer[0]["ok"]
            raise failure(operation, int(answer[0].get("errno", 0)), str(answer[0].get("error", "")))
        died = life.ended
        if within is None or not sent:
            self._end(life)
        if died:
            raise CouldNotObserveError(
                f"flux: {operation}: the bridge ended: {life.complaint() or 'no reason given'}", hint=_HINT
            )
        raise CouldNotObserveError(f"flux: {operation}: no answer", hint=_HINT)

    def watch(self, ranks: Sequence[int] = (), job: str = "") -> int:
        """Begin to listen and return a descriptor that is readable when there are events. May be repeated.

        Args:
            ranks: brokers whose end is reported at once.
            job: id of the caller's own job when it is one of the instance's, else empty.

        Raises CouldNotObserveError when the instance sends this user no events.
        """
        if self._signal is None:
            self._signal = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        if not self._listening:
            self._since = time.time()
            self._wanted = {"ranks": list(ranks), "job": job}
            # Set before the call, so that a program that dies right after its answer is started again.
            self._listening = True
            try:
                if not self.call("watch", since=self._since, **self._wanted).get("heard"):
                    raise CouldNotObserveError("flux: the instance tells this user nothing", hint=_HINT)
            except WheslError:
                self._listening = False
                raise
        return self._signal

    def events(self) -> list[dict[str, Any]]:
        """Return the events since the last call, without waiting."""
        if self._signal is not None:
            with contextlib.suppress(BlockingIOError):
                os.eventfd_read(self._signal)
        found = []
        while self._told:
            found.append(self._told.popleft())
        return found

    @property
    def alive(self) -> bool:
        """Whether the program runs and has reached the instance, so that a call does not start a program."""
        life = self._life
        return life is not None and life.greeted.is_set() and not life.ended

    def close(self) -> None:
        """End the program."""
        self._closed.set()
        with self._lock:
            if self._life is not None:
                self._end(self._life)

    # Life of the program ------------------------------------------------------------------------------

    def _living(self) -> _Life:
        """Return the running program, or start one. Raises CouldNotObserveError."""
        with self._lock:
            self._used = time.monotonic()
            if self._life is not None and not self._life.ended:
                return self._life
            if self._closed.is_set():
                raise CouldNotObserveError("flux: the bridge is closed")
            now = time.monotonic()
            if len(self._starts) == STARTS and now - self._starts[0] < _MINUTE:
                why = self._life.complaint() if self._life else ""
                raise CouldNotObserveError(
                    f"flux: the bridge ended {STARTS} times within a minute: {why or 'no reason given'}",
                    hint=_HINT,
                )
            self._starts.append(now)
            complaints = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the program
            try:
                process = subprocess.Popen(
                    self._program,
                    env=self._environ,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=complaints,
                    start_new_session=True,
                )
            except OSError as error:
                message = f"flux could not be started: {error.strerror}"
                raise CouldNotObserveError(message, hint="load Flux's module, or put flux on PATH") from None
            assert process.stdin is not None
            os.set_blocking(process.stdin.fileno(), False)
            life = self._life = _Life(process, complaints)
            threading.Thread(target=self._listen, args=(life,), name="flux-bridge", daemon=True).start()
            if self._idle is not None:
                threading.Thread(target=self._rest, args=(life, self._idle), daemon=True).start()
        if not life.greeted.wait(self._timeout) or life.ended:
            self._end(life)
            raise CouldNotObserveError(
                f"flux: the instance is not reached: {life.complaint() or 'no answer'}", hint=_HINT
            )
        return life

    def _listen(self, life: _Life) -> None:
        """Read the program's messages until it ends."""
        assert life.process.stdout is not None
        for line in life.process.stdout:
            try:
                message = json.loads(line)
                if not isinstance(message, dict):
                    raise ValueError
            except ValueError:
                break  # a program that sends anything but messages is ended
            self._take(life, message)
        self._end(life)
        life.greeted.set()
        for answered, _ in list(life.pending.values()):
            answered.set()
        while self._listening and not self._closed.is_set() and self._life is life:
            try:
                self._again()
            except WheslError:
                self._closed.wait(_MINUTE / STARTS)

    def _rest(self, life: _Life, idle: float) -> None:
        """End an idle program, since each of a thousand concurrent tasks would keep one."""
        while not self._closed.wait(idle) and not life.ended:
            with self._lock:
                needed = self._listening or life.pending or not life.greeted.is_set()
                if not needed and time.monotonic() - self._used >= idle:
                    self._end(life)

    def _again(self) -> None:
        """Listen again after the program died."""
        self._living()
        self.call("watch", since=self._since, **self._wanted)

    def _take(self, life: _Life, message: dict[str, Any]) -> None:
        if message.get("event") == "hello":
            # Idleness counts from this greeting: callers that wait for it could not ask before.
            self._used = time.monotonic()
            life.greeted.set()
        elif "event" in message:
            if message["event"] in ("node", "exception"):
                self._since = max(self._since, float(message.get("time", 0.0)))
                self._told.append(message)
                if self._signal is not None:
                    os.eventfd_write(self._signal, 1)
        elif waiting := life.pending.get(message.get("id", -1)):
            waiting[1].append(message)
            waiting[0].set()

    def _end(self, life: _Life) -> None:
        life.ended = True
        # The program's process group is killed before the wait, after which its id may be reused.
        if life.process.returncode is None:
            command_call.send_group(life.process.pid, signal.SIGKILL)
        life.process.wait()


def _write(life: _Life, data: bytes, deadline: float) -> bool:
    """Write to the program; return False when it has ended or accepts no bytes until the deadline."""
    assert life.process.stdin is not None
    descriptor = life.process.stdin.fileno()
    view = memoryview(data)
    while view:
        _, ready, _ = select.select([], [descriptor], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            return False
        try:
            view = view[os.write(descriptor, view) :]
        except BlockingIOError:
            continue
        except OSError:
            return False
    return True
