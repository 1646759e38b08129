"""The runner: runs an attempt's command, and leaves the command's exit status in a file.

Run by path, with an interpreter that has no site packages; standard library only. The runner is no shell,
since a shell does not distinguish an exit status of 143 from a death by SIGTERM. Arguments: the mark of the
attempt's processes (``attempt_rlimit_mark``), bytes; the status file; the command's words.
"""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import signal
import sys
import time

if __name__ == "__main__":  # run by path, in an interpreter without packages
    sys.path.append(os.path.abspath(__file__).rsplit(os.sep, 5)[0])  # noqa: PTH100
from whesl import drop_coerced_locale, ignored_by_shell, take_own_name

TYPE_CHECKING = False  # importing typing and collections.abc costs milliseconds
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Set
    from typing import NoReturn

# Word after a status of 128 + n: the command died of signal n, and did not return that status itself.
SIGNAL = "signal"
# The signals that the caller of ``whesl exec`` ignores, and those that it blocks: bit masks as in /proc.
_CALLER = "WHESL_CALLER_SIGNALS"
_PYTHON_IGNORES: Set[int] = {signal.SIGPIPE, signal.SIGXFSZ}
_WIDTH = 15
STATUS_PENDING = b"-" * _WIDTH + b"\n"
# Tries to write the status file, for half a minute, while its file system refuses.
_TRIES = 60
_PAUSE = 0.5
_MISSING = (errno.ENOENT, errno.ENOTDIR)


def read(content: bytes) -> tuple[int | None, bool]:
    """Return the exit status in a status file, None for none, and whether the command died of a signal.

    Args:
        content: the file's content. The file is made beforehand in its final length and overwritten in place,
            so that a full disk cannot swallow the status of the program that filled it. Dashes: not started;
            ``run``: running, or killed together with its runner.
    """
    whole = len(content) == len(STATUS_PENDING) and content.endswith(b"\n")
    words = content.decode("ascii", "replace").split() if whole else []
    if not words or not words[0].isdigit():
        return None, False
    return int(words[0]), words[1:] == [SIGNAL]


def main(mark: str, status: str, command: list[str]) -> int:
    """Run a command, and return its status as a shell gives it.

    Args:
        mark: the mark of the attempt's processes, bytes.
        status: the status file.
        command: the command's words.
    """
    take_mark(mark)
    return run(status, lambda: become(command))


def take_mark(mark: str) -> None:
    """Mark this process and its future children.

    Args:
        mark: the mark of the attempt's processes, bytes.
    """
    with contextlib.suppress(OSError, ValueError):  # the site's hard limit is lower than any mark
        resource.setrlimit(resource.RLIMIT_RSS, (int(mark), resource.getrlimit(resource.RLIMIT_RSS)[1]))


def run(status: str, become: Callable[[], NoReturn]) -> int:
    """Run a child, write its exit status to a file, and return the status as a shell gives it.

    The child leads a process group of its own, as a batch script does. Signals to the runner stay pending
    until it ends: they are meant for the child, whose status has still to be written.

    Args:
        status: the status file.
        become: executes the command; called in the child.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    # Where SIGCHLD is ignored, the kernel keeps no child's status.
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _leave(status, "run")
    code, word = _run(become)
    with contextlib.suppress(OSError), open("/proc/self/comm", "w") as name:  # noqa: PTH123
        name.write(f"{code} {word}")  # the keeper's only source while the status file's file system hangs
    _leave(status, f"{code} {word}")
    return code


def status_in_name(runner: int) -> tuple[int | None, bool]:
    """Return the result of ``read`` for the name of a runner whose program has ended.

    Args:
        runner: the runner's process number.
    """
    with contextlib.suppress(OSError), open(f"/proc/{runner}/comm") as name:  # noqa: PTH123
        return read(f"{name.read().strip():<{_WIDTH}}\n".encode())
    return None, False


def _run(become: Callable[[], NoReturn]) -> tuple[int, str]:
    came = signal.sigpending()  # before the child was there, for which they are meant
    pid = os.fork()
    if pid == 0:
        try:
            os.setpgid(0, 0)
            for signum in came:
                os.kill(os.getpid(), signum)
            give_back_signals()
            become()
        finally:
            os._exit(126)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return (128 - code, SIGNAL) if code < 0 else (code, "")


def note_signals() -> None:
    """Note in the environment what the caller ignores and blocks, and what a wrapped script's program saw."""
    ignored, blocked = _noted() or (ignored_by_shell(), signal.pthread_sigmask(signal.SIG_BLOCK, ()))
    own = {signum for signum in signal.valid_signals() if signal.getsignal(signum) is signal.SIG_IGN}
    # Python ignores these two at its start, and bash ignores SIGQUIT for itself.
    ignored = own - _PYTHON_IGNORES | _PYTHON_IGNORES & ignored
    masks = (sum(1 << (signum - 1) for signum in signals) for signals in (ignored, blocked))
    os.environ[_CALLER] = " ".join(f"{mask:x}" for mask in masks)


def _noted() -> list[set[int]]:
    """Return which signals the caller ignores, and which it blocks; nothing where that is not noted."""
    masks = [int(mask, 16) for mask in os.environ.get(_CALLER, "").split()]
    return [{signum for signum in signal.valid_signals() if mask >> (signum - 1) & 1} for mask in masks]


def give_back_signals() -> None:
    """Ignore and block the signals that the caller of ``whesl exec`` ignores and blocks, as far as noted.

    SIGCHLD is never blocked: Slurm 25.05 starts scripts so, and a shell that inherits that may wait for ever.
    """
    ignored, blocked = _noted() or (set(), set())
    os.environ.pop(_CALLER, None)
    for signum in _PYTHON_IGNORES | ignored:
        signal.signal(signum, signal.SIG_IGN if signum in ignored else signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, blocked - {signal.SIGCHLD})


def become(command: list[str]) -> NoReturn:
    """Become the command; if that fails, exit with a shell's status (126 or 127)."""
    try:
        _become(command)
    except OSError as error:
        os.write(2, os.fsencode(f"whesl: {command[0]} cannot be run: {error.strerror}\n"))
        os._exit(127 if error.errno in _MISSING else 126)


def _become(command: list[str]) -> NoReturn:
    """Become the command, found as execvp(3) finds it. Raises OSError."""
    problem = OSError(errno.ENOENT, os.strerror(errno.ENOENT))
    for path in _places(command[0]):
        try:
            os.execv(path, command)  # noqa: S606  # a list
        except OSError as error:
            if error.errno == errno.ENOEXEC:  # the shell runs a script without an interpreter line
                os.execv("/bin/sh", ["/bin/sh", path, *command[1:]])  # noqa: S606  # a list
            if error.errno not in _MISSING:
                problem = error
    raise problem


def _places(name: str) -> Iterator[str]:
    if "/" in name:
        yield name
    else:
        yield from (f"{place or '.'}/{name}" for place in os.get_exec_path())


def running(directory: str) -> int:
    """Return the process number of a task's runner on this machine, 0 when there is none.

    Args:
        directory: the task's directory.
    """
    for name in os.listdir("/proc"):  # noqa: PTH208
        try:
            pid = int(name)
            with open(f"/proc/{pid}/cmdline", "rb") as file:  # noqa: PTH123
                words = file.read().split(b"\0")
            if words[3:4] != [os.fsencode(__file__)] or os.getsid(pid) != pid:
                continue
            # The status file, the word after the mark: DIRECTORY/attempt-N/status.
            if os.fsdecode(words[5]).rsplit("/", 2)[0] == directory:
                return pid
        except (OSError, ValueError, IndexError):
            continue  # not a process, gone, or not a runner
    return 0


def _leave(status: str, text: str) -> None:
    """Overwrite the status file in place."""
    for _ in range(_TRIES):
        try:
            file = os.open(status, os.O_WRONLY | os.O_CLOEXEC)
            try:
                os.pwrite(file, f"{text:<{_WIDTH}}\n".encode(), 0)
                return
            finally:
                os.close(file)
        except OSError:
            time.sleep(_PAUSE)


if __name__ == "__main__":
    take_own_name()
    drop_coerced_locale()
    os._exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
