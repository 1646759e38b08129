"""Restarts a process on its node when a signal kills it."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable

from whesl.managers.resource import command_call

AGAIN = 0.5  # seconds before a restart


def kept_alive(serve: Callable[[], None]) -> int:
    """Run a function in a child process, again when a signal kills the child; return its exit status.

    A node without an agent would prevent all checkpoints of its job. SIGTERM and SIGINT are passed to the
    child, and the child ends with this process.

    Args:
        serve: the function, which handles SIGTERM and SIGINT itself.
    """
    ends = {signal.SIGTERM, signal.SIGINT}
    child = 0
    stopped = False

    def stop(number: int, _frame: object) -> None:
        nonlocal stopped
        stopped = True
        if child:
            os.kill(child, number)

    for number in ends:
        signal.signal(number, stop)
    while True:
        signal.pthread_sigmask(signal.SIG_BLOCK, ends)
        end_with_parent = command_call.ends_with_this_process()
        child = os.fork()
        if child == 0:
            end_with_parent()
            for number in ends:
                signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, ends)
            serve()
            return 0
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ends)
        _, status = os.waitpid(child, 0)
        if stopped or not os.WIFSIGNALED(status):
            return os.waitstatus_to_exitcode(status)
        time.sleep(AGAIN)
