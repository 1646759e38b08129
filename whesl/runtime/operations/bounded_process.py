"""A child process with a time limit; beyond the limit it is killed with its whole process group."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from typing import IO, Any

import msgspec

_STEP = 0.05  # seconds between two checks of a child whose own child keeps the pipe open


class ProcessResult(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a child process. ``status`` is that of subprocess (negative: a signal).

    ``timed_out`` and ``too_much`` (output beyond the limit) say why it was killed.
    """

    status: int
    output: bytes = b""
    timed_out: bool = False
    too_much: bool = False


def run_limited(
    command: Sequence[str],
    *,
    timeout: float,
    limit: int,
    given: bytes = b"",
    errors: IO[Any] | int = subprocess.DEVNULL,
    environment: Mapping[str, str] | None = None,
    workdir: str | None = None,
    keep_end: bool = False,
    clock: Callable[[], float] = time.monotonic,
) -> ProcessResult:
    """Run a command in a session of its own and wait for its end.

    Args:
        command: argument list, never a shell string.
        timeout: seconds until the whole group is killed; processes left when the command ends are killed too.
        limit: bytes of standard output.
        given: standard input.
        errors: the file or descriptor that takes standard error.
        environment: the whole environment; None inherits.
        workdir: the working directory; None inherits.
        keep_end: keep the last ``limit`` bytes of an output of any length, instead of refusing longer ones.
        clock: returns monotonic time in seconds.

    Raises:
        OSError: it could not be started.
    """
    child = subprocess.Popen(
        list(command),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        env=None if environment is None else dict(environment),
        cwd=workdir,
        start_new_session=True,
    )
    try:
        output, timed_out, too_much = _exchange(child, given, clock() + timeout, limit, keep_end, clock)
    finally:
        # The leader is not reaped yet, so no other process group can have its number.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)
        status = child.wait()
        for stream in (child.stdin, child.stdout):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()
    return ProcessResult(status=status, output=output, timed_out=timed_out, too_much=too_much)


def _exchange(
    child: subprocess.Popen[bytes],
    given: bytes,
    deadline: float,
    limit: int,
    keep_end: bool,
    clock: Callable[[], float],
) -> tuple[bytes, bool, bool]:
    if child.stdin is None or child.stdout is None:
        raise OSError("a pipe was asked for and not made")
    writer, reader = child.stdin.fileno(), child.stdout.fileno()
    output = bytearray()
    rest = memoryview(given)
    with selectors.DefaultSelector() as selector:
        for descriptor in (writer, reader):
            os.set_blocking(descriptor, False)
        selector.register(reader, selectors.EVENT_READ)
        if rest:
            selector.register(writer, selectors.EVENT_WRITE)
        else:
            child.stdin.close()
        ended = False
        while True:
            remaining = deadline - clock()
            if remaining <= 0 and not ended:
                return bytes(output), True, False
            ready = selector.select(0 if ended else min(_STEP, remaining)) if selector.get_map() else []
            for key, _ in ready:
                if key.fd == writer:
                    rest = _write(child, rest)
                    if not rest:
                        selector.unregister(writer)
                        with contextlib.suppress(BrokenPipeError):
                            child.stdin.close()
                elif not _read(reader, output):
                    selector.unregister(reader)
            if len(output) > limit:
                if not keep_end:
                    return bytes(output[:limit]), False, True
                del output[:-limit]
            if ended and not any(key.fd == reader for key, _ in ready):
                return bytes(output), False, False
            if not ended:
                if not selector.get_map():
                    time.sleep(_STEP)
                ended = _has_ended(child)


def _write(child: subprocess.Popen[bytes], rest: memoryview) -> memoryview:
    if child.stdin is None:
        return memoryview(b"")
    try:
        return rest[os.write(child.stdin.fileno(), rest[:65_536]) :]
    except BlockingIOError:
        return rest
    except BrokenPipeError:
        return memoryview(b"")  # the child has closed its input; its answer counts nevertheless


def _read(reader: int, output: bytearray) -> bool:
    try:
        block = os.read(reader, 65_536)
    except BlockingIOError:
        return True
    output += block
    return bool(block)


def _has_ended(child: subprocess.Popen[bytes]) -> bool:
    """Whether the child has ended, without reaping it."""
    flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
    return os.waitid(os.P_PID, child.pid, flags) is not None
