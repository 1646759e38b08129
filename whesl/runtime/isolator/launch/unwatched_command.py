"""A command that runs without WHESL, since file systems refuse the task's files."""

from __future__ import annotations

import errno
import os
import sys

from whesl.files.hanging_file_system import SilentError
from whesl.runtime.isolator.launch import program_runner
from whesl.runtime.wire.private_directory import HomeError

TYPE_CHECKING = False  # importing typing and collections.abc costs milliseconds
if TYPE_CHECKING:
    from collections.abc import Sequence

# Errors of a file system that takes no writes, whatever file they concern.
REFUSING = frozenset({errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.ESTALE})


def instead(command: Sequence[str], error: Exception, said: str) -> None:
    """Become the command, if it was not started yet and WHESL's home cannot be used; else return.

    Other wrong files, such as missing rules, and a home that is open to others are mistakes of the user.

    Args:
        command: the command's words.
        error: why the task could not be started.
        said: the error as text.
    """
    cause = error if isinstance(error, OSError) else error.__cause__
    if not command or not isinstance(cause, OSError):
        return
    # A question to a silent home is a child of this process, and is asked before anything is started.
    if not isinstance(cause, SilentError) and _has_begun():
        return
    if cause.errno not in REFUSING and not isinstance(error, HomeError):
        return
    sys.stderr.write(f"whesl: {said}\n  the command runs as without WHESL: no rule is applied\n")
    sys.stderr.flush()
    program_runner.give_back_signals()
    program_runner.become([*command])


def _has_begun() -> bool:
    """Whether this process has a child, which is the isolator, and starts the command in any case."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True
