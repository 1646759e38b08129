"""A process that is started again on its node where a signal kills it."""

from __future__ import annotations

import ctypes
import os
import signal
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

AGAIN = 0.5  # seconds before it is started again
_PDEATHSIG = 1  # prctl(2)


def kept_alive(serve: Callable[[], None]) -> int:
    """Do something in a child process, in another one where a signal kills that; return its exit status.

    A node without an agent would keep its whole job from writing checkpoints. Signals to end go to the child,
    which ends with this process.

    Args:
        serve: what is done; it takes SIGTERM and SIGINT itself.
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
        parent = os.getpid()
        child = os.fork()
        if child == 0:
            _die_with(parent)
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


def _die_with(parent: int) -> None:
    """Have this process end when another one, which started it, is killed."""
    ctypes.CDLL(None).prctl(_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGTERM)
