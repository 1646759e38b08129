"""The notice on a paused task, which its keeper shows on a terminal."""

from __future__ import annotations

import contextlib
import shlex

from whesl.files import file_retry
from whesl.model.printable import visible
from whesl.runtime.isolator.core.state import Phase, State
from whesl.runtime.isolator.task.taskdir import TaskDir


def tell(directory: TaskDir, state: State) -> None:
    """Write the notice on why a task is paused, or remove it when the task is not paused.

    Args:
        directory: the task's directory.
        state: the task's state.
    """
    with contextlib.suppress(OSError):
        if state.phase is not Phase.PAUSED:
            file_retry.remove(directory.paused)
            return
        task, why = state.setup.task.id, visible(state.paused)
        text = f"whesl: {task} is paused: {why}\n  hint: whesl resume {shlex.quote(task)}\n"
        file_retry.replace(directory.paused, text.encode())
