"""A warning, once per user, that the resource manager truncates the output of a requeued job.

Only a submission option can keep the first run's output. The resource manager is asked for that option at a
task's end, and only for users who were never warned.
"""

from __future__ import annotations

import contextlib
import os
import threading

from whesl.managers.resource.port import Allocation, TruncatesOutput
from whesl.model.errors import WheslError
from whesl.runtime.wire.keys import home

MARK = "told-of-truncated-output"
LIMIT = 2.0  # seconds to wait for the resource manager's answer


def once(allocation: Allocation) -> tuple[str, ...]:
    """Return the warning for a task's summary; () where it does not apply, or the user was warned before.

    Args:
        allocation: the resource manager inside the job.
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
