"""whesl resume, pause, cancel: a person's request to one task."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import click
import msgspec

from whesl.cli import completion_candidates
from whesl.cli.options import TIMEOUT
from whesl.cli.parameters import argument, option, parameters
from whesl.client import uncoordinated_tasks
from whesl.model.errors import RefusedError, TransientError
from whesl.model.states import TaskState
from whesl.runtime.coordinator.client.journal_state import known_state
from whesl.runtime.coordinator.core.dependents_and_names import AmbiguityError, resolve
from whesl.runtime.wire import keys
from whesl.runtime.wire.client import request
from whesl.runtime.wire.messages import Command

_REPLY = 20.0
_TURN = 0.1
_DONE: dict[str, Callable[[TaskState], bool]] = {
    "resume": lambda state: state is not TaskState.PAUSED,
    "pause": lambda state: state is TaskState.PAUSED or state.final,
    "cancel": lambda state: state.final,
}
_WORDS = {"resume": "goes on", "pause": "is to pause", "cancel": "is to end"}


@dataclass(frozen=True)
class Asked:
    """A request to a task, and whether the command waits for it."""

    task: str = argument(shell_complete=completion_candidates.tasks)
    wait: bool = option(False, "Return when it has happened.")
    timeout: float = TIMEOUT


@click.command()
@parameters
def resume(asked: Asked) -> None:
    """Let the paused TASK go on; its exception's budget begins anew.

    TASK may be abbreviated as long as it means one task: <workflow>/<step>_<instance>, or a part of it.
    """
    _control("resume", asked)


@click.command()
@parameters
def pause(asked: Asked) -> None:
    """Stop TASK and keep its allocation, until `whesl resume` or the time limit."""
    _control("pause", asked)


@click.command()
@parameters
def cancel(asked: Asked) -> None:
    """End TASK for good; its workflow manager sees it fail."""
    _control("cancel", asked)


def _known(home: Path, task: str) -> bool:
    """Whether the coordinator knows a task with a name that may be abbreviated."""
    try:
        resolve(known_state(home).state.tasks, task)
    except AmbiguityError as error:
        return any(task in candidate for candidate in error.candidates)
    return True


def _control(action: str, asked: Asked) -> None:
    from whesl.runtime.coordinator.client.start import ensure_running

    home = keys.home()
    if not _known(home, asked.task) and (found := uncoordinated_tasks.find(home, asked.task)) is not None:
        # The task runs without a coordinator, and a later coordinator cannot control it.
        uncoordinated_tasks.tell(home, found, action)
        click.echo(f"{found.task} {_WORDS[action]}")
        if asked.wait:
            click.echo(f"{found.task} is {uncoordinated_tasks.wait(home, found, asked.timeout)}")
        return
    ensure_running(home)
    reply = request(home, Command(id=uuid.uuid4().hex, action=action, target=asked.task), _REPLY)
    body = msgspec.json.decode(reply.body) if reply.body else {}
    if not reply.ok:
        candidates = body.get("candidates") or []
        hint = f"did you mean: {', '.join(candidates)}" if candidates else "see `whesl status`"
        raise RefusedError(reply.error, hint=hint)
    found = body["task"]
    click.echo(f"{found} {_WORDS[action]}")
    if not asked.wait:
        return
    deadline = time.monotonic() + asked.timeout
    known = known_state(home)
    while not _DONE[action](known.state.tasks[found].state):
        if time.monotonic() >= deadline:
            raise TransientError(
                f"{found} is still {known.state.tasks[found].state.value} after {asked.timeout:g} s",
                hint="its isolator may be silent; see `whesl status`",
            )
        time.sleep(_TURN)
        known = known_state(home, known)
    click.echo(f"{found} is {known.state.tasks[found].state.value}")
