"""The note on a paused task, for its keeper's terminal."""

from __future__ import annotations

import contextlib
import shlex

from whesl.files import file_retry
from whesl.model.printable import visible
from whesl.runtime.isolator.core.state import Phase, State
from whesl.runtime.isolator.task.taskdir import TaskDir


def tell(directory: TaskDir, state: State) -> None:
    """Leave a note on why nothing goes on, or remove it."""
    with contextlib.suppress(OSError):
        if state.phase is not Phase.PAUSED:
            file_retry.remove(directory.paused)
            return
        task, why = state.setup.task.id, visible(state.paused)
        text = f"whesl: {task} is paused: {why}\n  hint: whesl resume {shlex.quote(task)}\n"
        file_retry.replace(directory.paused, text.encode())
