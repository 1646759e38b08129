"""Old logs: their messages as events for the miner, and chains run over them."""

from __future__ import annotations

import contextlib
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from whesl.model.errors import UsageError
from whesl.prediction.log_chains import template
from whesl.prediction.log_chains.drain import Drain
from whesl.prediction.log_chains.lines import Header, told, unknown_form
from whesl.prediction.log_chains.log_stream_predictor import ChainStream
from whesl.prediction.log_chains.mining import Event
from whesl.runtime.detect.compressed_logs import opened

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from whesl.model.evidence import PredictedFailure
    from whesl.prediction.log_chains.log_stream_predictor import Compiled

_BLOCK = 1 << 20  # bytes that are read at once
_FIRST = 1 << 16  # bytes by which a log's form is told


class Messages(NamedTuple):
    """What a log says, as templates.

    Attributes:
        events: in order of time.
        drain: their templates.
        lines: how many there were.
        unread: of these, how many have no time and node.
    """

    events: list[Event]
    drain: Drain
    lines: int
    unread: int

    def text(self, number: int) -> str | None:
        """Return a template; None for one that cannot be looked for, since there is too little in it."""
        try:
            return template.checked(self.drain.text(number))
        except UsageError:
            return None


def header_of(path: Path, form: str | None) -> Header:
    """Return what reads a log.

    Args:
        path: the file.
        form: as of ``lines.Header``; None to tell it by its first lines.

    Raises:
        UsageError: its form is not known, or the file cannot be read.
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
    """Read logs as templates.

    Args:
        paths: of files, compressed or not.
        form: as of ``header_of``.
        advance: told of each so many bytes that were read.

    Raises:
        UsageError: as of ``header_of``.
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
    """Run chains over logs, one after the other, and return what they predict.

    Args:
        compiled: the chains.
        paths, form, advance: as of ``messages``.

    Returns:
        Predictions in the order of their lines, and what was read of each log.
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
    """Yield what one log predicts.

    Args:
        stream: takes in its bytes.
        path: of the file, compressed or not.
        stopped: asked now and then whether to end.

    Raises:
        UsageError: it cannot be read.
    """
    if stream.header is None:
        stream.header = header_of(path, None)
    for block in _blocks(path):
        yield from stream.feed(block)
        if stopped():
            return
    yield from stream.finish()


def size(paths: Sequence[Path]) -> float:
    """Return about how many bytes of text files hold; compressed ones are taken for ten times as many."""
    total = 0.0
    for path in paths:
        with contextlib.suppress(OSError):
            total += path.stat().st_size * (10 if path.suffix in (".xz", ".gz", ".bz2") else 1)
    return total


def _blocks(path: Path) -> Iterator[bytes]:
    with opened(path) as file:
        while block := file.read(_BLOCK):
            yield block
