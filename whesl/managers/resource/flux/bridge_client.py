"""Flux, spoken to through a process of its own.

The daemons import nothing of Flux: its reactor and its locks would stall their heartbeats, its library has to
match the site's Flux to the version, and a crash in it would be theirs. So ``bridge_program`` runs under the
Python that Flux itself was built for (``flux python``, which is what Flux's own commands run under too), and
both sides speak JSON lines over pipes.

The program is watched: when it dies, calls raise CouldNotObserveError, the next one starts another, and
listening is taken up where it ended; a bounded number of times a minute.
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

from whesl.model.errors import CouldNotObserveError, RefusedError, TransientError, WheslError

LOG = logging.getLogger(__name__)
# Longer than the program itself waits for a service of the instance.
TIMEOUT = 35.0
# Starts of the program within a minute.
STARTS = 5
_MINUTE = 60.0
_PROGRAM = ("flux", "python", str(Path(__file__).with_name("bridge_program.py")))
_HINT = "does `flux uptime` answer here?"
# Seconds after which a program is ended that is neither called nor listens; well above the pause between two
# looks at the nodes, and so long that it is started at most twice a minute for single calls.
IDLE = 20.0
# The most events that are kept: events that are not fetched must not fill the memory.
_KEPT = 10_000


class FluxRefusedError(RefusedError):
    """Flux said no; ``code`` is its errno."""

    def __init__(self, message: str, *, code: int, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.code = code


def failure(operation: str, code: int, text: str) -> WheslError:
    """Return the error for Flux's answer to an operation: an errno (0: none) and what it says."""
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
    """One run of a program."""

    def __init__(self, process: subprocess.Popen[bytes], complaints: IO[bytes]) -> None:
        self.process = process
        self.complaints = complaints
        self.ended = False
        self.greeted = threading.Event()
        self.pending: dict[int, tuple[threading.Event, list[dict[str, Any]]]] = {}

    def complaint(self) -> str:
        """Return the last line that it wrote on standard error."""
        with contextlib.suppress(OSError, ValueError):
            self.complaints.seek(0)
            lines = self.complaints.read()[-2000:].decode("utf-8", "replace").strip().splitlines()
            return lines[-1] if lines else ""
        return ""


class Bridge:
    """The near end. Thread-safe.

    Args:
        environ: environment of the program; PATH in it finds ``flux``.
        uri: of the instance; empty for FLUX_URI's in ``environ``, or the system's.
        timeout: seconds after which a call counts as unanswered.
        idle: seconds without a call after which the program is ended, unless it listens; the next call starts
            another. None: it is kept.
        program: what to run instead of the real one (tests).
    """

    def __init__(
        self,
        environ: Mapping[str, str],
        uri: str = "",
        *,
        timeout: float = TIMEOUT,
        idle: float | None = None,
        program: Sequence[str] = _PROGRAM,
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
            operation: its name.
            within: seconds for the answer; when given, a late answer is only dropped. Otherwise a program
                that does not answer is ended, and the next call starts another.
            fields: its arguments.

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
            ranks: brokers whose end is to be told at once.
            job: the caller's own, when it is one of the instance's jobs.

        Raises CouldNotObserveError when nothing can be heard.
        """
        if self._signal is None:
            self._signal = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        if not self._listening:
            self._since = time.time()
            self._wanted = {"ranks": list(ranks), "job": job}
            # Set before the call: a program that dies right after its answer has to be started again.
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
        """Whether the program runs and has reached the instance: then a call costs no start."""
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
        """Return a running program, a new one when there is none. Raises CouldNotObserveError."""
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
                break  # a program that sends something else than messages is not asked again
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
        """End a program that is not needed: each of a thousand tasks side by side would keep one."""
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
            # Callers that wait for this program have not been able to ask yet.
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
        # The program is killed with all that it has started, before the wait: its number is free afterwards.
        if life.process.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(life.process.pid, signal.SIGKILL)
        life.process.wait()


def _write(life: _Life, data: bytes, deadline: float) -> bool:
    """Write to the program; False when it takes nothing until the deadline, or has ended."""
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
