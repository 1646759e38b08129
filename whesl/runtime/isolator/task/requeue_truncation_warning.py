"""A warning, once for each user: the resource manager empties the output of a job that it runs again.

Only the job's owner can keep the first run's output, by an option of its submission. The resource manager has
to be asked for it, so that is done at a task's end, and only where the user was never told.
"""

from __future__ import annotations

import contextlib
import os
import threading

from whesl.managers.resource.port import Allocation, TruncatesOutput
from whesl.model.errors import WheslError
from whesl.runtime.wire.keys import home

MARK = "told-of-truncated-output"
LIMIT = 2.0  # seconds for which an answer is waited for


def once(allocation: Allocation) -> tuple[str, ...]:
    """Return the sentence for a task's summary; nothing where it does not apply, or was told.

    Args:
        allocation: the resource manager's inside face.
    """
    if not isinstance(allocation, TruncatesOutput):
        return ()
    mark = home() / MARK
    if os.path.lexists(mark):
        return ()
    found: list[str] = []

    def ask() -> None:
        with contextlib.suppress(WheslError):
            found.extend(allocation.truncated_output())

    thread = threading.Thread(target=ask, name="output-hint", daemon=True)
    thread.start()
    thread.join(LIMIT)
    if not found:
        return ()
    try:
        os.close(os.open(mark, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except OSError:
        return ()
    return (
        f"should {allocation.name} run this job again by itself, {found[0]} begins anew, "
        "unless it was submitted with --open-mode=append (told once)",
    )
