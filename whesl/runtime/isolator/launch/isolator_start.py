"""The start of an isolator by its keeper, or by the process that becomes it. Standard library only."""

from __future__ import annotations

import os
import signal
import sys

from whesl.files import file_retry
from whesl.runtime.isolator.launch import signal_delivery
from whesl.runtime.isolator.launch.signal_delivery import CAUSED, SIGNALS
from whesl.runtime.locking import takeover_lock

TYPE_CHECKING = False  # importing typing costs milliseconds
if TYPE_CHECKING:
    from collections.abc import Callable

# Messages to an isolator that waits to load: load, or end unused. It also loads when the pipe closes.
GO, PARTING = b"+", b"-"
# Keeps files such as random.py in the task's directory from being imported (from Python 3.11 on).
_SAFE = ["-P"] if sys.version_info >= (3, 11) else []


def start_isolator(
    python: str,
    task_dir: str,
    lock: int | None = None,
    gate: tuple[int, int] | None = None,
    loaded: Callable[[list[str]], int] | None = None,
) -> int:
    """Start an isolator in a session of its own, logging to the task's log; return its process number.

    Args:
        python: the interpreter.
        task_dir: the task's directory.
        lock: the task's lock, held by this process and from now on by the isolator.
        gate: both ends of a pipe; the isolator loads once it reads ``GO``, or no process has the second end
            open; it ends when it reads ``PARTING``.
        loaded: the isolator's main function, where this process has already loaded it.
    """
    held = [] if lock is None else ["--lock", str(lock)]
    append = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
    try:
        log = file_retry.retried(lambda: os.open(f"{task_dir}/log", append, 0o600))
    except OSError:
        # The task needs its isolator more than the isolator's log.
        log = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
    keeper = os.getpid()
    pid = os.fork()
    if pid == 0:
        try:
            os.setsid()
            # Signals that come before the isolator listens stay pending instead of ending it.
            signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, CAUSED)
            os.dup2(log, 1)
            os.dup2(log, 2)
            if gate is not None:
                os.close(gate[1])
                if os.read(gate[0], 1) == PARTING:
                    if lock is not None:
                        takeover_lock.release(lock)
                    os._exit(0)
            # Signals that Python ignores would stay ignored in all processes of the task.
            for signum in (signal.SIGPIPE, *signal_delivery.heard()):
                signal.signal(signum, signal.SIG_DFL)
            if lock is not None:
                os.set_inheritable(lock, True)
            words = ["--task-dir", task_dir, "--keeper", str(keeper), *held]
            if loaded is not None:
                os._exit(loaded(words))
            os.execv(python, [python, *_SAFE, "-m", "whesl.runtime.isolator", *words])  # noqa: S606  # a list
        finally:
            os._exit(127)
    file_retry.close(log)
    return pid
