"""Starting, finding and ending the user's one coordinator.

A lock ensures that each WHESL home has one coordinator. A caller that needs it calls ``ensure_running``.
"""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import psutil

from whesl.files import file_retry
from whesl.model import home as places
from whesl.model.errors import TransientError, WheslError
from whesl.runtime.locking import procfs, takeover_lock
from whesl.runtime.locking.takeover_lock import HeldError
from whesl.runtime.wire.client import request
from whesl.runtime.wire.endpoint import Endpoint, read_endpoint
from whesl.runtime.wire.keys import private_directory
from whesl.runtime.wire.messages import Command, Query

LOG = logging.getLogger(__name__)
BIND_VARIABLE = "WHESL_BIND"
START_LIMIT = 20.0
_PING = 2.0
# Seconds between two starts while another process has the lock: each pause is twice the last one, up to 2 s.
_FIRST_PAUSE = 0.1
_LONGEST_PAUSE = 2.0
_LOG_TAIL = 2000
ALREADY_RUNNING = 3
# A coordinator that another command starts ends a week after the last message about an unfinished task, so
# that it does not stay on a login node for ever. The next `whesl run` starts a new one from the journal.
ON_DEMAND = ("--idle", str(7 * 86400))


class AlreadyRunningError(WheslError):
    """Another coordinator has this WHESL home."""

    exit_code = ALREADY_RUNNING


def lock(home: Path, *, take_over: bool = False) -> int:
    """Take the coordinator's lock and return its descriptor, to be kept open.

    Args:
        home: the WHESL home.
        take_over: the caller asserts that the coordinator on another host, which seems to hold the lock, is
            dead.

    Raises AlreadyRunningError when another process holds the lock, WheslError when this cannot be found out.
    """
    path = places.coordinator_lock(home)
    private_directory(path.parent)
    try:
        try:
            return takeover_lock.take(str(path), takeover_lock.owned())
        except HeldError as error:
            if take_over and not error.owner.here:
                descriptor = takeover_lock.break_lock(str(path), error.owner, takeover_lock.owned())
                if descriptor is not None:
                    return descriptor
            raise AlreadyRunningError(
                f"another coordinator has {home} ({error.owner})",
                hint="see `whesl coordinator status`; end it with `whesl coordinator stop`; "
                "if its host is dead: `whesl coordinator start --take-over`",
            ) from error
    except OSError as error:
        raise WheslError(
            f"the lock {path} cannot be taken: {error.strerror}",
            hint="`whesl doctor` tells what its file system can do; "
            f"{places.VARIABLE} may be any directory of your own that nodes share",
        ) from error


def running(home: Path, timeout: float = _PING) -> dict[str, Any] | None:
    """Return the running coordinator's answer about itself, None when no coordinator answers.

    Args:
        home: the WHESL home.
        timeout: seconds to wait for its answer.
    """
    found = read_endpoint(home)
    if found is None or _surely_gone(found):
        return None
    try:
        reply = request(home, Query(what="health"), timeout)
    except TransientError:
        return None
    body: dict[str, Any] = msgspec.json.decode(reply.body)
    return body


def begin(home: Path) -> subprocess.Popen[bytes] | None:
    """Start the coordinator unless one seems to run; ``ensure_running`` waits until it answers.

    Args:
        home: the WHESL home.

    Returns the process that was started, if any. Raises HomeError, OSError.
    """
    found = read_endpoint(home)
    return _spawn(home, ON_DEMAND) if found is None or _surely_gone(found) else None


def ensure_running(
    home: Path, *, options: Sequence[str] = ON_DEMAND, child: subprocess.Popen[bytes] | None = None
) -> Endpoint:
    """Start the coordinator unless it runs, and return where it listens.

    Args:
        home: the WHESL home.
        options: options of ``python -m whesl.runtime.coordinator`` for a coordinator that has to be started.
        child: the process of a coordinator that is starting (from ``begin``).

    Raises TransientError when it ends, gets nothing done for ``START_LIMIT`` seconds, or does not answer for
    as long once it listens, with the end of its log.
    """
    again = begun = time.monotonic()
    patience, pause, told = Patience(again), _FIRST_PAUSE, False
    while True:
        found, starting = read_endpoint(home), _starting(home, child)
        elsewhere = found is not None and _elsewhere(found)
        listens = found is not None and found.pid == starting and not elsewhere
        if patience.over(time.monotonic(), 0 if listens else _work(starting)):
            break
        if not told and time.monotonic() > begun + START_LIMIT:
            told = True
            LOG.warning("the coordinator is not ready after %.0f s, and its start advances", START_LIMIT)
        # A process that has ended answers nobody; one that lives answers late on a busy machine.
        if found is not None and running(home, _PING if listens or elsewhere else _PING / 4) is not None:
            return found
        if found is not None and found.foreign and _held(home):
            raise _unheard(found)
        if child is None or child.poll() == ALREADY_RUNNING:
            # The process that has the lock starts, ends, or hangs; a later round finds out which.
            if time.monotonic() >= again:
                child = _spawn(home, options)
                again, pause = time.monotonic() + pause, min(2 * pause, _LONGEST_PAUSE)
        elif child.poll() is not None:
            break
        time.sleep(0.05)
    ended = child.poll() if child is not None else None
    how = (
        f"did not answer, and its start did not advance for {START_LIMIT:.0f} s"
        if ended in (None, ALREADY_RUNNING)
        else f"ended at once (status {ended})"
    )
    hint = f"its log is {places.coordinator_log(home)}; try `whesl coordinator start --foreground`"
    if _full(home):
        hint = f"the file system of {home} is full: make room, or set WHESL_HOME to another one"
    raise TransientError(f"the coordinator {how}: {_last_words(home)}", hint=hint)


def _full(home: Path) -> bool:
    """Whether nothing can be written, not even to a log."""
    try:
        return os.statvfs(home).f_bavail == 0
    except OSError:
        return False


class Patience:
    """How long a coordinator that starts is waited for. Pure, on a monotonic clock.

    A busy machine or a long journal makes a start slow, so only time without any advance counts.

    Args:
        now: seconds.
    """

    def __init__(self, now: float) -> None:
        self._since = now
        self._work = 0

    def over(self, now: float, work: int) -> bool:
        """Whether the coordinator is waited for no longer.

        Args:
            now: the present time.
            work: the processor time that its process has used, in any unit; 0 where that is not known.
        """
        if work != self._work:
            self._since, self._work = now, work
        return now >= self._since + START_LIMIT


def _starting(home: Path, child: subprocess.Popen[bytes] | None) -> int:
    """Return the process of this host that starts or runs the coordinator, 0 for none that is known."""
    with contextlib.suppress(OSError):
        owner = takeover_lock.holder(str(places.coordinator_lock(home)))
        if owner is not None:
            return owner.pid if owner.here else 0
    return child.pid if child is not None and child.poll() is None else 0


def _work(pid: int) -> int:
    """Return the processor time of a process in clock ticks, 0 where it could not be observed."""
    with contextlib.suppress(OSError):
        return sum(map(int, procfs.status_fields(pid)[11:13])) if pid else 0
    return 0


def stop(home: Path, timeout: float = START_LIMIT) -> bool:
    """Shut the coordinator down in order; return False when none runs.

    Raises TransientError when the coordinator does not end in time, or runs and does not answer.

    Args:
        home: the WHESL home.
        timeout: seconds to wait for the end of the coordinator.
    """
    found = read_endpoint(home)
    if found is None:
        return False
    if running(home) is None:
        if _surely_gone(found) or not _held(home):
            return False
        raise _unheard(found)
    request(home, Command(id=uuid.uuid4().hex, action="stop"), timeout)
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        present = read_endpoint(home)
        if (present is None or present.incarnation != found.incarnation) and _surely_gone(found, True):
            return True
        time.sleep(0.02)
    raise TransientError(
        f"the coordinator (process {found.pid} on {found.host}) did not end within {timeout:g} s",
        hint="a step of a recovery may still run; look at `whesl events`",
    )


def _held(home: Path) -> bool:
    """Whether a living coordinator holds the lock, as far as this host can find out."""
    try:
        return takeover_lock.holder(str(places.coordinator_lock(home))) is not None
    except OSError:
        return True


def _unheard(found: Endpoint) -> TransientError:
    """Return the error for a coordinator that runs and does not answer."""
    why = found.foreign or f"it hangs, or port {found.port} of {found.host} cannot be reached from here"
    stop = "that version's `whesl coordinator stop`, or " if found.foreign else ""
    return TransientError(
        f"the coordinator (process {found.pid} on {found.host}) does not answer: {why}",
        hint=f"end it with {stop}`kill {found.pid}` on {found.host}; running tasks go on without it",
    )


def _surely_gone(endpoint: Endpoint, elsewhere: bool = False) -> bool:
    """Whether a coordinator's process has ended; ``elsewhere`` is the result for one on another host."""
    if _elsewhere(endpoint):
        return elsewhere
    try:
        return bool(psutil.Process(endpoint.pid).status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


def _elsewhere(endpoint: Endpoint) -> bool:
    return endpoint.host != socket.gethostname()


def _spawn(home: Path, options: Sequence[str]) -> subprocess.Popen[bytes]:
    private_directory(home)
    private_directory(places.coordinator(home))
    append = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
    log = file_retry.retried(lambda: os.open(places.coordinator_log(home), append, 0o600))
    try:
        return subprocess.Popen(
            [sys.executable, "-m", "whesl.runtime.coordinator", *options],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env={**os.environ, "WHESL_HOME": str(home)},
            cwd=home,
            start_new_session=True,
        )
    finally:
        file_retry.close(log)


def _last_words(home: Path) -> str:
    try:
        text = places.coordinator_log(home).read_text(errors="replace")[-_LOG_TAIL:]
    except OSError:
        return "it wrote no log"
    # A hint is printed below the error that it belongs to.
    lines = [line for line in text.strip().splitlines() if not line.startswith(" ")]
    return lines[-1] if lines else "its log is empty"
