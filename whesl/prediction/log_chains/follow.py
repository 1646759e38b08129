"""Follows a log as it grows, through rotation, bursts and torn lines: a file, a pipe, or the journal."""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import time
from typing import TYPE_CHECKING

from whesl.model.errors import WheslError
from whesl.runtime.detect.tail import Tailer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from whesl.model.evidence import PredictedFailure
    from whesl.prediction.log_chains.log_stream_predictor import ChainStream
    from whesl.prediction.log_chains.saved_state import Memory

_PIECE = 1 << 18  # bytes that are read at once
_LOOK = 1.0  # seconds between two looks at whether to stop
JOURNAL = ("journalctl", "--follow", "--lines=0", "--merge", "--output=short-iso-precise", "--no-pager")


def file(
    stream: ChainStream,
    path: str,
    *,
    whole: bool = False,
    stopped: Callable[[], bool] = lambda: False,
    trouble: Callable[[str], None] = lambda _: None,
    memory: Memory | None = None,
) -> Iterator[PredictedFailure]:
    """Yield what a growing file predicts; when it is rotated, the new one is followed.

    Args:
        stream: takes in its bytes.
        path: of the file, which need not be there yet.
        whole: from its beginning, not from its present end.
        stopped: asked about once a second whether to end; what the file still holds is read before.
        trouble: told why the file cannot be read, when that changes.
        memory: where it was left; None to remember nothing.
    """
    said = ""
    with Tailer() as tailer:
        if memory is None:
            tailer.follow(path, 0 if whole else None)
        else:
            memory.begin(tailer, path, whole=whole)
        while True:
            ending = stopped()
            # A file that is polled may have grown since the last look.
            for chunk in tailer.read(time.monotonic(), _PIECE, force=ending):
                if chunk.rotated:
                    yield from stream.finish()
                found = stream.feed(chunk.data)
                yield from found
                if memory is not None:
                    memory.save(tailer, now=bool(found))
            problem = tailer.problems().get(path, "")
            if problem != said:
                said = problem
                trouble(f"{path}: {problem}" if problem else f"{path} is read again")
            if tailer.pending:
                continue
            if ending:
                if memory is None:
                    yield from stream.finish()
                else:
                    memory.save(tailer, now=True)
                return
            if memory is not None:
                memory.save(tailer)
            due = tailer.next_poll(time.monotonic())
            wait = _LOOK if due is None else min(max(due - time.monotonic(), 0.0), _LOOK)
            handle = tailer.fileno()
            if handle is None:
                time.sleep(wait)
            else:
                select.select([handle], [], [], wait)


def pipe(
    stream: ChainStream, handle: int, *, stopped: Callable[[], bool] = lambda: False
) -> Iterator[PredictedFailure]:
    """Yield what a pipe predicts, until it ends.

    Args:
        stream: takes in its bytes.
        handle: a file descriptor.
        stopped: as of ``file``.
    """
    while not stopped():
        if not select.select([handle], [], [], _LOOK)[0]:
            continue
        data = os.read(handle, _PIECE)
        if not data:
            break
        yield from stream.feed(data)
    yield from stream.finish()


def journal(
    stream: ChainStream, *, stopped: Callable[[], bool] = lambda: False
) -> Iterator[PredictedFailure]:
    """Yield what systemd's journal predicts from now on, with that of other hosts where it is collected.

    Args:
        stream: takes in its bytes.
        stopped: as of ``file``.

    Raises:
        WheslError: journalctl cannot be started, or has ended.
    """
    try:
        process = subprocess.Popen(JOURNAL, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    except OSError as error:
        raise WheslError(f"cannot run journalctl: {error.strerror}") from error
    try:
        assert process.stdout is not None
        yield from pipe(stream, process.stdout.fileno(), stopped=stopped)
        if not stopped():
            raise WheslError(f"journalctl has ended with status {process.wait()}")
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        process.communicate()
