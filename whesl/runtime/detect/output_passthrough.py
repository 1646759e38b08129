"""Copies a task's output to its job's streams. Standard library only, as all modules of the keeper."""

from __future__ import annotations

import contextlib
import fcntl
import math
import os
import select
import time

from whesl.files import file_retry
from whesl.runtime.detect.shared_output import Appended

TYPE_CHECKING = False  # the import of typing takes milliseconds
if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Container, Iterator, Sequence

_BLOCK = 1 << 20
# Seconds between two checks for output: while there is output, and the longest without output. A check makes
# some calls to a file system that thousands of tasks may share.
LOOK_FIRST = 0.02
LOOK_LONGEST = 0.25
# The most bytes of output for a pipe that nobody reads.
UNREAD_BYTES = 64 << 20
# Seconds that a reader gets for the rest of a task's output after a signal that ends the task.
UNREAD = 5.0


def copy(
    directory: str,
    name: str,
    out: int,
    over: threading.Event,
    idle: Callable[[], None] = lambda: None,
    unread: Callable[[], None] = lambda: None,
    *,
    common: bool = False,
    patient: bool = True,
) -> None:
    """Copy the output of a task's attempts in order, until the task has ended and all output is copied.

    After the end of a pipe's reader nothing more is copied; the last of it is in the task's files.

    Args:
        directory: the task's directory.
        name: the stream: ``stdout`` or ``stderr``.
        out: the descriptor to write to.
        over: set when no more output will come.
        idle: called now and then while there is no output.
        unread: called when there is output for a pipe that nobody reads any more.
        common: ``out`` is a file that other tasks append to as well. It gets whole lines; an incomplete line
            is copied only when its rest does not come.
        patient: wait while another process copies this stream to such a file; else leave it to that process.
    """
    copied = Copied(f"{directory}/copied-{name}")
    if common and not copied.hold(patient=patient):
        return
    number, offset = copied.position()
    pause = LOOK_FIRST
    appended = None
    while True:
        before = number, offset
        ending = over.is_set()
        following = again = False
        try:
            if common and appended is None:
                appended = Appended(out)
            following = file_retry.exists(f"{directory}/attempt-{number + 1}")
            whole = not (ending or following or pause == LOOK_LONGEST)
            for block in blocks(f"{directory}/attempt-{number}/{name}", offset):
                end = len(block)
                if appended is not None and (whole or end == _BLOCK):
                    end = block.rfind(b"\n") + 1 or (end if end == _BLOCK else 0)
                view = memoryview(block)[:end]
                while view:
                    written = appended.append(view) if appended is not None else pass_on(view, out)
                    if not written:
                        return
                    view = view[written:]
                    offset += written
                    copied.note(number, offset)
                if end < len(block):
                    again = len(block) == _BLOCK
                    break
        except BrokenPipeError:
            unread()
            _discard(directory, name, number, over)
            return
        except OSError:
            # The files have been out of reach for some time: try again while the task runs.
            following = again = False
        if again:
            continue
        if following:
            number, offset = number + 1, 0
        elif ending:
            break
        else:
            pause = LOOK_FIRST if (number, offset) != before else min(pause * 2, LOOK_LONGEST)
            if pause == LOOK_LONGEST:
                idle()  # the caller may use the time while the task is silent
            over.wait(pause)
    if appended is not None:
        appended.close()


def _discard(directory: str, name: str, number: int, over: threading.Event) -> None:
    """Throw away what nobody reads before it fills the disk: of programs that ignore SIGPIPE, of children."""
    while not over.wait(LOOK_FIRST):
        with contextlib.suppress(OSError):
            number += file_retry.exists(f"{directory}/attempt-{number + 1}")
            path = f"{directory}/attempt-{number}/{name}"
            if os.stat(path).st_size > UNREAD_BYTES:  # noqa: PTH116 - pathlib takes milliseconds
                os.truncate(path, 0)


def finish(copiers: Sequence[threading.Thread], signals: int, heard: set[int], ending: Container[int]) -> int:
    """Wait until an ended task's output is copied; after a signal that ends tasks, for a limited time.

    Args:
        copiers: the threads that copy.
        signals: the descriptor on which the numbers of received signals arrive.
        heard: the signals received before; those received meanwhile are added.
        ending: the signals that end tasks.

    Returns the signal by which the plain command would have died beside a reader that reads nothing; 0 where
    all output was taken.
    """
    deadline = math.inf
    for copier in copiers:
        while copier.is_alive():
            copier.join(LOOK_LONGEST)
            if select.select([signals], (), (), 0)[0]:
                heard.update(os.read(signals, 64))
            if told := [signum for signum in sorted(heard) if signum in ending]:
                deadline = min(deadline, time.monotonic() + UNREAD)
                if copier.is_alive() and time.monotonic() >= deadline:
                    return told[0]
    return 0


def blocks(path: str, offset: int) -> Iterator[bytes]:
    """Yield a file's content from an offset on, nothing when there is no such file. Raises OSError.

    Args:
        path: the file.
        offset: the first byte.
    """
    source = -1

    def read() -> bytes:
        nonlocal source
        try:
            if source < 0:
                source = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            return os.pread(source, _BLOCK, offset)
        except FileNotFoundError:
            return b""
        except OSError:
            if source >= 0:
                file_retry.close(source)  # a stale handle never recovers
                source = -1
            raise

    try:
        while block := file_retry.retried(read):
            yield block
            offset += len(block)
    finally:
        if source >= 0:
            file_retry.close(source)


def pass_on(view: memoryview, out: int) -> int:
    """Write as many bytes as the reader takes, and return their number; 0 where no bytes can be written.

    Args:
        view: the bytes.
        out: the descriptor to write to.

    Raises:
        BrokenPipeError: ``out`` is a pipe without a reader.
    """
    while True:
        try:
            return os.write(out, view)
        except BlockingIOError:
            # Another process with the same pipe made it non-blocking: wait, so that no output is lost.
            select.select([], [out], [])
        except BrokenPipeError:
            raise
        except OSError:
            return 0


class Copied:
    """The file with the position up to which a stream is copied, for the next keeper.

    Args:
        path: the file.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._place = -1

    def hold(self, *, patient: bool) -> bool:
        """Become the only process that copies, for its lifetime; False when another process copies.

        Args:
            patient: wait until no other process copies.
        """
        try:
            self._open()
            fcntl.flock(self._place, fcntl.LOCK_EX | (0 if patient else fcntl.LOCK_NB))
        except BlockingIOError:
            return False
        except OSError:
            pass  # without locks, two processes may copy the same stream
        return True

    def position(self) -> tuple[int, int]:
        """Return the recorded attempt and offset."""
        words: list[bytes] = []
        with contextlib.suppress(OSError):
            words = (file_retry.content(self._path) or b"").split()
        return (int(words[0]), int(words[1])) if len(words) >= 2 else (1, 0)

    def note(self, number: int, offset: int) -> None:
        """Record the position; a failure is ignored, since later positions are recorded too.

        Args:
            number: the attempt's number.
            offset: bytes of the attempt's stream that are copied.
        """
        try:
            self._open()
            os.pwrite(self._place, b"%d %d          \n" % (number, offset), 0)
        except OSError:
            if self._place >= 0:
                file_retry.close(self._place)
                self._place = -1

    def _open(self) -> None:
        if self._place < 0:
            self._place = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
