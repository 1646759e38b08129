"""Finds out, by a submission's token, whether a submission without a reply was accepted."""

from __future__ import annotations

import time
from collections.abc import Callable

from whesl.managers.resource.port import JobRecord
from whesl.model.errors import CouldNotObserveError, TransientError, WheslError

_POLL = 0.5


def look_again(
    find: Callable[[], JobRecord | None],
    cause: WheslError,
    manager: str,
    settle: float,
    sleep: Callable[[float], None],
) -> str:
    """Return the id of a job whose submission got no reply.

    Args:
        find: returns the job with the submission's token, None without one; may raise CouldNotObserveError.
        cause: the error of the submission that got no reply.
        manager: the resource manager's name in messages.
        settle: seconds of looking for the job before it counts as not submitted.
        sleep: called with the seconds between two looks.

    Raises TransientError when the job was surely not accepted, CouldNotObserveError when that is unknown.
    """
    deadline = time.monotonic() + settle
    while True:
        unseen: WheslError | None = None
        try:
            if (known := find()) is not None:
                return known.id
        except CouldNotObserveError as error:
            unseen = error
        if time.monotonic() >= deadline:
            break
        sleep(_POLL)
    if unseen is not None:
        message = f"nobody knows whether the job was submitted: {cause.message}; {unseen.message}"
        raise CouldNotObserveError(message, hint=f"do not submit by hand; call again when {manager} answers")
    raise TransientError(f"the job was not submitted: {cause.message}", hint="the same call may be repeated")
