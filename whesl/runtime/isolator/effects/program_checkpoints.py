"""Checkpoints of a running program: through its client's coordinator, a signal, or a trigger file.

Each request waits in a thread of its own, since a checkpoint takes as long as the file system needs.
"""

from __future__ import annotations

import contextlib
import glob
import logging
import os
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from whesl.files import file_retry
from whesl.language.compiler.operation_signatures import JobCheckpoint
from whesl.model.errors import WheslError
from whesl.model.evidence import PredictedFailure
from whesl.runtime.isolator.core.events_and_commands import (
    AskCheckpoint,
    Command,
    SignalAttempt,
    TellLost,
    TellPrediction,
)
from whesl.runtime.journal.records import isolator_records as records

if TYPE_CHECKING:
    from collections.abc import Callable

    from whesl.checkpoints.messages import Reply, ToCoordinator

LOG = logging.getLogger(__name__)
LOOK = 0.1  # seconds between two looks at the checkpoint files being written
COMMANDS: tuple[type[Command], ...] = (AskCheckpoint, TellPrediction, TellLost)
SETTLED = 1.0  # seconds without change after which a checkpoint file counts as complete
_NAMED = 4
AWAY = 30.0  # seconds without an answer after which the checkpoint coordinator counts as absent


class Checkpoints:
    """Asks for checkpoints of one task's program.

    Args:
        task: the task's id.
        tell: schedules a call in the event loop; may be called from any thread.
        feed: hands an event to the core; called in the event loop.
        signal: sends a signal to the attempt; called in the event loop.
    """

    def __init__(
        self,
        task: str,
        tell: Callable[[Callable[[], None]], None],
        feed: Callable[[records.CheckpointEnded], None],
        signal: Callable[[SignalAttempt], None],
    ) -> None:
        self._task, self._tell, self._feed, self._signal = task, tell, feed, signal
        self._lost: set[str] = set()

    def perform(self, command: AskCheckpoint | TellPrediction | TellLost) -> None:
        """Carry out a checkpoint command; a CheckpointEnded event follows an AskCheckpoint."""
        if isinstance(command, TellLost):
            self._lost.add(command.node)
        call = self._ask if isinstance(command, AskCheckpoint) else self._tell_of
        threading.Thread(target=call, args=(command,), name="checkpoint", daemon=True).start()

    def _tell_of(self, command: TellPrediction | TellLost) -> None:
        from whesl.checkpoints.core.states_and_events import Lost

        if isinstance(command, TellLost):
            self._say(Lost(node=command.node, why="the isolator calls it lost"))
        else:
            self._say(_predicted(command.prediction))

    def _say(self, message: ToCoordinator) -> Reply | None:
        """Send a message to the checkpoint coordinator; None if there is no coordinator or no answer."""
        # Imported here since most tasks have no checkpoint coordinator.
        from whesl.checkpoints import control, rendezvous

        try:
            address = rendezvous.of_task(self._task)
            answer = control.ask(address, message) if address is not None else None
        except (WheslError, OSError) as error:
            LOG.warning("the coordinator of checkpoints: %s", error)
            return None
        if answer is not None and answer.text:
            LOG.info("the coordinator of checkpoints: %s", answer.text)
        return answer

    def _ask(self, command: AskCheckpoint) -> None:
        began = time.monotonic()
        self._lost.clear()
        arguments = msgspec.convert(command.arguments, JobCheckpoint)
        try:
            done = self._through_client(command, arguments)
            if done is None:
                done = self._from_outside(command, arguments)
        except OSError as error:
            done = "", f"{error.filename or 'a file'}: {error.strerror}"
        checkpoint, why = done
        event = records.CheckpointEnded(
            ordinal=command.ordinal, checkpoint=checkpoint, seconds=time.monotonic() - began, why=why
        )
        self._tell(lambda: self._feed(event))

    # Checkpoints through the program's client

    def _through_client(self, command: AskCheckpoint, arguments: JobCheckpoint) -> tuple[str, str] | None:
        """Return the checkpoint and the reason of a failure, one of them empty; None without a client."""
        from whesl.checkpoints.messages import StatusAsked

        first = self._say(StatusAsked())
        if first is None or not any(node["ranks"] for node in _nodes(first)):
            return None
        answer = self._request(command)
        if answer is None:
            return "", "the coordinator of checkpoints does not answer"
        taken: Any = answer.status.get("checkpoint")
        if taken is None and not answer.refused:
            return _whole(answer), ""  # a checkpoint taken since the request holds the node's state
        if taken is None:
            return "", answer.text
        return self._followed(command, taken["number"], arguments.timeout)

    def _request(self, command: AskCheckpoint) -> Reply | None:
        from whesl.checkpoints.core.states_and_events import Requested

        prediction = command.prediction
        if prediction is not None and (now := prediction.at(time.time())).lead > 0:
            return self._say(_predicted(now, command.move))
        return self._say(Requested(reason="a rule asks for it"))

    def _followed(self, command: AskCheckpoint, number: int, timeout: float) -> tuple[str, str]:
        from whesl.checkpoints.messages import StatusAsked

        until, heard = time.monotonic() + timeout, time.monotonic()
        while time.monotonic() < until:
            time.sleep(LOOK)
            answer = self._say(StatusAsked())
            if answer is None:
                if time.monotonic() - heard > AWAY:
                    return "", "the coordinator of checkpoints does not answer"
                continue
            heard = time.monotonic()
            whole: Any = answer.status["checkpoints"]
            ended: Any = answer.status["ended"]
            # A restarted coordinator may have begun another checkpoint.
            if (newest := max(whole, default=0)) >= number:
                return f"checkpoint {newest}", ""
            if answer.status["tried_again"]:
                number = max(number, ended["number"] + 1)
                continue
            if ended is not None and ended["number"] >= number:
                return "", f"checkpoint {number} was given up: {ended['why']}"
            if answer.status["checkpoint"] is None and _has_joined(command, answer):
                # The checkpoint coordinator was killed before any agent heard of the request, and restarted.
                again = self._request(command)
                taken: Any = again.status.get("checkpoint") if again is not None else None
                number = taken["number"] if taken is not None else number
        return "", f"checkpoint {number} did not become whole in {timeout:g} s"

    # Checkpoints of a program without a client

    def _from_outside(self, command: AskCheckpoint, arguments: JobCheckpoint) -> tuple[str, str]:
        if not (arguments.signal or arguments.trigger):
            return "", "the program has no client of checkpoints, and the rule names no signal and no trigger"
        before = _files(arguments.written)
        if arguments.trigger:
            os.close(
                os.open(arguments.trigger, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            )
        if arguments.signal:
            sent = SignalAttempt(attempt=command.attempt, signum=arguments.signal)
            self._tell(lambda: self._signal(sent))
        try:
            return self._written(command, arguments, before)
        finally:
            if arguments.trigger:
                with contextlib.suppress(FileNotFoundError):
                    Path(arguments.trigger).unlink()

    def _written(
        self, command: AskCheckpoint, arguments: JobCheckpoint, before: dict[str, tuple[int, int]]
    ) -> tuple[str, str]:
        """Wait until the program has removed the trigger file and its checkpoint files stop growing."""
        until = time.monotonic() + arguments.timeout
        seen, since = before, time.monotonic()
        while time.monotonic() < until:
            time.sleep(LOOK)
            if command.prediction is not None and command.prediction.node in self._lost:
                return "", f"{command.prediction.node} was lost before it was written"
            present = _files(arguments.written)
            if present != seen:
                seen, since = present, time.monotonic()
            asked = arguments.trigger and os.path.lexists(arguments.trigger)
            fresh = sorted(name for name, state in present.items() if before.get(name) != state)
            settled = not arguments.written or (fresh and time.monotonic() - since >= SETTLED)
            if not asked and settled:
                for name in fresh:
                    file_retry.sync(name)
                return ", ".join(Path(name).name for name in fresh[:_NAMED]) or "what it was asked for", ""
        missing = "the trigger is still there" if arguments.trigger else f"no new {arguments.written}"
        return "", f"nothing was written in {arguments.timeout:g} s: {missing}"


def _predicted(prediction: PredictedFailure, move: float | None = None) -> Any:
    from whesl.checkpoints.core.states_and_events import Predicted

    return Predicted(
        node=prediction.node,
        lead=prediction.lead,
        confidence=prediction.confidence,
        evidence=prediction.evidence or prediction.source,
        move=move,
    )


def _nodes(answer: Reply) -> list[Any]:
    nodes: Any = answer.status["nodes"]
    return list(nodes.values())


def _has_joined(command: AskCheckpoint, answer: Reply) -> bool:
    """Whether the checkpoint coordinator knows the node of the request, or any node if none is named."""
    nodes: Any = answer.status["nodes"]
    return any(nodes) if command.prediction is None else command.prediction.node in nodes


def _whole(answer: Reply) -> str:
    numbers: Any = answer.status["checkpoints"]
    return f"checkpoint {numbers[0]}" if numbers else "no checkpoint"


def _files(pattern: str) -> dict[str, tuple[int, int]]:
    """Return the modification time and size of each file that matches a glob."""
    found = {}
    for name in glob.glob(pattern) if pattern else ():  # noqa: PTH207  Path.glob wants a directory first
        with contextlib.suppress(OSError):
            status = Path(name).stat()
            found[name] = (status.st_mtime_ns, status.st_size)
    return found
