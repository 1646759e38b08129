"""Copying a task's output through to its job's streams. Standard library only, as all that the keeper has."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select

from whesl.files import file_retry
from whesl.runtime.detect.shared_output import Appended

TYPE_CHECKING = False  # typing costs milliseconds
if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator

_BLOCK = 1 << 20
# Between two looks for output, seconds: while it comes, and the longest while none does. Each is some calls
# to a file system that thousands of tasks may share.
LOOK_FIRST = 0.02
LOOK_LONGEST = 0.25


def copy(
    directory: str,
    name: str,
    out: int,
    over: threading.Event,
    idle: Callable[[], None] = lambda: None,
    *,
    common: bool = False,
    patient: bool = True,
) -> None:
    """Copy the output of a task's attempts through, in order, until the task is over and all is copied.

    Args:
        directory: the task's.
        name: of the stream: ``stdout`` or ``stderr``.
        out: the descriptor to write to.
        over: set when no more will be printed.
        idle: called now and then while nothing is printed.
        common: whether ``out`` is a file that other tasks append to as well. It gets whole lines, and the
            beginning of one only when the rest does not come.
        patient: wait where another process copies this stream to such a file; else leave it to that.
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
                        return  # the reader is gone: the task goes on, its output is in the files
                    view = view[written:]
                    offset += written
                    copied.note(number, offset)
                if end < len(block):
                    again = len(block) == _BLOCK
                    break
        except OSError:
            # The files cannot be reached, and that has lasted: looked at again while the task runs.
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
                idle()  # the task is silent; its caller may use the time
            over.wait(pause)
    if appended is not None:
        appended.close()


def blocks(path: str, offset: int) -> Iterator[bytes]:
    """Yield a file's content from an offset on, nothing when there is no such file. Raises OSError."""
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
                file_retry.close(source)  # a stale handle is not to be used again
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
    """Write as many bytes as the reader takes, and return how many; 0 when no reader is left."""
    while True:
        try:
            return os.write(out, view)
        except BlockingIOError:
            # Another process that shares the pipe has made it non-blocking: no output may be lost for that.
            select.select([], [out], [])
        except OSError:
            return 0


class Copied:
    """The file that says how far a stream was copied through, for the next keeper.

    Args:
        path: the file.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._place = -1

    def hold(self, *, patient: bool) -> bool:
        """Be the only process that copies, as long as this one lives; False when another one does.

        Args:
            patient: wait until no other one does.
        """
        try:
            self._open()
            fcntl.flock(self._place, fcntl.LOCK_EX | (0 if patient else fcntl.LOCK_NB))
        except BlockingIOError:
            return False
        except OSError:
            pass  # without locks, two that copy the same are as good as it gets
        return True

    def position(self) -> tuple[int, int]:
        """Return attempt and offset."""
        words: list[bytes] = []
        with contextlib.suppress(OSError):
            words = (file_retry.content(self._path) or b"").split()
        return (int(words[0]), int(words[1])) if len(words) >= 2 else (1, 0)

    def note(self, number: int, offset: int) -> None:
        """Write them down; where that fails for the moment, the next ones are."""
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
