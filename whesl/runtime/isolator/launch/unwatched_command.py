"""A command whose task cannot be written down, since file systems refuse: it runs as without WHESL."""

from __future__ import annotations

import errno
import os
import signal
import sys

from whesl.runtime.isolator.launch import program_runner
from whesl.runtime.isolator.launch.signal_delivery import SIGNALS

TYPE_CHECKING = False  # typing and collections.abc cost milliseconds
if TYPE_CHECKING:
    from collections.abc import Sequence

# Errors of a file system that takes no writes. Missing rights and wrong names are the user's own.
REFUSING = frozenset({errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.ESTALE})


def instead(command: Sequence[str], error: Exception, said: str) -> None:
    """Become the command, where nothing of it was started and a file system is to blame; else return.

    Args:
        command: its words.
        error: why the task could not be begun.
        said: that in words.
    """
    cause = error if isinstance(error, OSError) else error.__cause__
    if not command or not isinstance(cause, OSError) or cause.errno not in REFUSING or _has_begun():
        return
    sys.stderr.write(f"whesl: {said}\n  the command runs as without WHESL: no rule is applied\n")
    sys.stderr.flush()
    program_runner.give_back_signals(signal.pthread_sigmask(signal.SIG_BLOCK, ()) - SIGNALS)
    program_runner.become([*command])


def _has_begun() -> bool:
    """Whether there is a child: the isolator is the first one, and starts the command in any case."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True
