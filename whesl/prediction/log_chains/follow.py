"""Follows a growing log through rotation, bursts and torn lines: a file, a pipe, or systemd's journal."""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import time
from collections.abc import Callable, Iterator

from whesl.model.errors import WheslError
from whesl.model.evidence import PredictedFailure
from whesl.prediction.log_chains.log_stream_predictor import ChainStream
from whesl.prediction.log_chains.saved_state import Memory
from whesl.runtime.detect.tail import Tailer

_PIECE = 1 << 18  # bytes per read
_LOOK = 1.0  # seconds between two calls of ``stopped``
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
    """Yield the failures that a growing log file predicts; after a rotation the new file is followed.

    Args:
        stream: the chains' stream, which reads the file's bytes.
        path: the file, which may not exist yet.
        whole: whether to start at the file's begin instead of its present end.
        stopped: called about once a second; true ends the following after the rest of the file is read.
        trouble: called with the reason when the file becomes unreadable or readable again.
        memory: remembers the position across restarts; None to remember nothing.
    """
    said = ""
    with Tailer() as tailer:
        if memory is None:
            tailer.follow(path, 0 if whole else None)
        else:
            memory.begin(tailer, path, whole=whole)
        while True:
            ending = stopped()
            # A polled file may have grown since the last poll, so the last read before the end is forced.
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
    """Yield the failures that the lines of a pipe predict, until the pipe ends.

    Args:
        stream: the chains' stream, which reads the pipe's bytes.
        handle: the pipe's file descriptor.
        stopped: see ``file``.
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
    """Yield the failures that new entries of systemd's journal predict.

    Entries of other hosts count too where the journal collects them.

    Args:
        stream: the chains' stream, which reads the journal's lines.
        stopped: see ``file``.

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
