"""Archived logs: reads their messages as events for the miner, and runs chains over them."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from whesl.files.packed_text import opened
from whesl.model.errors import UsageError
from whesl.model.evidence import PredictedFailure
from whesl.prediction.log_chains import template
from whesl.prediction.log_chains.drain import Drain
from whesl.prediction.log_chains.lines import Header, told, unknown_form
from whesl.prediction.log_chains.log_stream_predictor import ChainStream, Compiled
from whesl.prediction.log_chains.mining import Event

_BLOCK = 1 << 20  # bytes per read
_FIRST = 1 << 16  # bytes from the begin of a log that show its form


class Messages(NamedTuple):
    """The messages of logs as events of templates.

    Attributes:
        events: the messages, in order of time.
        drain: the templates of the messages.
        lines: number of lines in the logs.
        unread: number of lines without a time and node.
    """

    events: list[Event]
    drain: Drain
    lines: int
    unread: int

    def text(self, number: int) -> str | None:
        """Return a template's text; None for a template with too little fixed text to search for."""
        try:
            return template.checked(self.drain.text(number))
        except UsageError:
            return None


def header_of(path: Path, form: str | None) -> Header:
    """Return the line reader of a log.

    Args:
        path: the log file.
        form: the form of the lines, see ``lines.Header``; None to find it from the first lines.

    Raises:
        UsageError: the log's form is unknown, or the file cannot be read.
    """
    try:
        now = path.stat().st_mtime
    except OSError:
        now = None
    if form is not None:
        return Header(form, now)
    with opened(path) as file:
        first = file.read(_FIRST)
    header = told(first.split(b"\n"), now)
    if header is None:
        raise unknown_form(str(path))
    return header


def messages(
    paths: Sequence[Path], form: str | None, advance: Callable[[int], None] = lambda _: None
) -> Messages:
    """Read the messages of logs, and assign each a template.

    Args:
        paths: the log files, compressed or not.
        form: see ``header_of``.
        advance: called with the number of bytes read since the last call.

    Raises:
        UsageError: see ``header_of``.
    """
    drain = Drain()
    events: list[Event] = []
    counts: Counter[str] = Counter()
    names: dict[str, str] = {}
    read = 0
    for path in paths:
        header = header_of(path, form)
        with opened(path) as file:
            for raw in file:
                counts["lines"] += 1
                read += len(raw)
                if read > _BLOCK:
                    advance(read)
                    read = 0
                line = header.read(raw.rstrip(b"\n"))
                if line is None:
                    counts["unread"] += 1
                    continue
                number = drain.number(line.message.decode("utf-8", "replace"))
                if number >= 0:
                    events.append(Event(names.setdefault(line.node, line.node), line.time, number))
    events.sort(key=lambda one: one.time)
    return Messages(events, drain, counts["lines"], counts["unread"])


def run(
    compiled: Compiled,
    paths: Sequence[Path],
    form: str | None,
    advance: Callable[[int], None] = lambda _: None,
) -> tuple[list[PredictedFailure], list[ChainStream]]:
    """Run chains over logs, one after the other, and return the predicted failures.

    Args:
        compiled: the compiled chains.
        paths, form, advance: see ``messages``.

    Returns:
        Predicted failures in the order of the log lines, and the stream of each log with its counts.
    """
    found: list[PredictedFailure] = []
    streams: list[ChainStream] = []
    for path in paths:
        stream = ChainStream(compiled, header_of(path, form))
        if streams:
            stream.machine = streams[-1].machine
        streams.append(stream)
        for block in _blocks(path):
            found += stream.feed(block)
            advance(len(block))
        found += stream.finish()
    return found, streams


def one(
    stream: ChainStream, path: Path, stopped: Callable[[], bool] = lambda: False
) -> Iterator[PredictedFailure]:
    """Yield the failures that one log predicts.

    Args:
        stream: the chains' stream, which reads the log's bytes.
        path: the log file, compressed or not.
        stopped: called after each block; true ends the reading.

    Raises:
        UsageError: the file cannot be read.
    """
    if stream.header is None:
        stream.header = header_of(path, None)
    for block in _blocks(path):
        yield from stream.feed(block)
        if stopped():
            return
    yield from stream.finish()


def size(paths: Sequence[Path]) -> float:
    """Return the estimated number of bytes of text in files; a compressed file counts tenfold."""
    total = 0.0
    for path in paths:
        with contextlib.suppress(OSError):
            total += path.stat().st_size * (10 if path.suffix in (".xz", ".gz", ".bz2") else 1)
    return total


def _blocks(path: Path) -> Iterator[bytes]:
    with opened(path) as file:
        while block := file.read(_BLOCK):
            yield block
