"""``whesl placement chains run``: prints, records and delivers the predictions of a log."""

from __future__ import annotations

import hashlib
import signal
import sys
import threading
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from whesl.cli.options import node_list
from whesl.model.errors import RefusedError, WheslError
from whesl.model.printable import visible
from whesl.placement.site.history import prediction_file
from whesl.prediction.failures.predictor_base import span
from whesl.prediction.log_chains import archived_logs, follow
from whesl.prediction.log_chains.lines import Header

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from whesl.model.evidence import PredictedFailure
    from whesl.prediction.log_chains.log_stream_predictor import ChainStream
    from whesl.prediction.log_chains.saved_state import Memory


def expanded(nodes: str) -> frozenset[str]:
    """Return the nodes of a list such as ``n[01-03]``. Raises UsageError."""
    return frozenset(name.partition(".")[0] for name in node_list(nodes, "--nodes "))


def header(path: str | None, form: str | None) -> Header | None:
    """Return the reader of the lines' headers; None where the first lines show their form.

    Args:
        path: the log's path; None for the journal.
        form: the form's name, as the user gave it.
    """
    if form is not None:
        return Header(form)
    return Header("iso") if path is None else None


def source(
    stream: ChainStream,
    path: str | None,
    *,
    follow_on: bool,
    whole: bool,
    trouble: Callable[[str], None],
    memory: Memory | None = None,
) -> Iterator[PredictedFailure]:
    """Return the predictions of a log, of standard input, or of the journal.

    Args:
        stream: finds the predictions in the log's bytes.
        path: the log's path, ``-`` for standard input, None for the journal.
        follow_on: whether to follow the log as it grows.
        whole: whether to read the log from its beginning.
        trouble: called with the reason when the log cannot be read at present.
        memory: the remembered place in a followed log.

    Raises:
        UsageError: the file is missing and is not followed.
    """
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    if path is None:
        return follow.journal(stream, stopped=stop.is_set)
    if path == "-":
        return follow.pipe(stream, sys.stdin.fileno(), stopped=stop.is_set)
    if follow_on:
        return follow.file(stream, path, whole=whole, stopped=stop.is_set, trouble=trouble, memory=memory)
    return archived_logs.one(stream, Path(path), stopped=stop.is_set)


class Follower:
    """Handles predictions as they come.

    Args:
        stream: the source of the predictions.
        known: nodes whose predictions count; None for all nodes.
        record: a file to which predictions are appended; None for none.
        in_json: whether predictions are printed as JSON.
        deliver: whether predictions are sent to this user's running tasks.
    """

    def __init__(
        self,
        stream: ChainStream,
        known: frozenset[str] | None,
        record: Path | None,
        *,
        in_json: bool,
        deliver: bool,
    ) -> None:
        self._stream = stream
        self._known = known
        self._record = record
        self._in_json = in_json
        self._deliver = deliver
        self._strangers: dict[str, int] = {}

    def trouble(self, text: str) -> None:
        """Print a trouble on standard error."""
        click.echo(visible(text), err=True)

    def run(self, found: Iterator[PredictedFailure]) -> None:
        """Handle all predictions, and print a summary at the end."""
        count = 0
        for one in found:
            if self._known is not None and one.node not in self._known:
                self._strangers[one.node] = self._strangers.get(one.node, 0) + 1
                continue
            count += 1
            self._take(one)
        stream = self._stream
        if stream.header is None and stream.lines:
            self.trouble(
                f"none of {stream.lines} lines has time and node in a known form: give --form (see --help)"
            )
        self.trouble(f"{stream.lines:,} lines, {count} predictions")
        for number, text in (
            (stream.unread, "lines hold a message of a chain, and no time and node"),
            (stream.machine.set_back, "times a node's clock was set back; its chains begin anew"),
            (stream.cut, "lines longer than 1 MiB were cut"),
            (sum(self._strangers.values()), "predictions of nodes that are not in --nodes"),
        ):
            if number:
                self.trouble(f"{number} {text}")

    def _take(self, one: PredictedFailure) -> None:
        if self._in_json:
            click.echo(msgspec.json.encode(one).decode())
        else:
            when = datetime.fromtimestamp(one.time).astimezone().isoformat(timespec="seconds")
            click.echo(
                f"{when} {visible(one.node)} fails in {span(one.lead)} "
                f"with probability {one.confidence:.2f}: {visible(one.evidence)}"
            )
        sys.stdout.flush()
        if self._record is not None:
            try:
                prediction_file.append(self._record, one)
            except WheslError as error:
                self.trouble(str(error))
        if self._deliver:
            self._told(one)

    def _told(self, one: PredictedFailure) -> None:
        """Send a prediction to running tasks; an error is printed, and the log is still followed."""
        from whesl.client.external_exceptions import predict_failure

        # A message that is read again is the same prediction, so that its id depends on the message only.
        identity = hashlib.sha256(f"{one.source} {one.node} {one.time}".encode()).hexdigest()[:32]
        try:
            told = predict_failure(one, id=identity)
        except RefusedError:
            return  # no running task uses the node
        except (WheslError, OSError) as error:
            self.trouble(f"{one.node}: no task was told: {error}")
            return
        self.trouble(f"{one.node}: told {', '.join(told.tasks)}")
