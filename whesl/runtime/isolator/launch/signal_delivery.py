"""The delivery of signals from the keeper to the program: once, to the processes that a signal is meant for.

docs/design/batch-scripts.md names the ways in which signals come, and the two witness processes that
distinguish them. Standard library only.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import threading
import time

from whesl.files import standard_streams
from whesl.runtime.locking import procfs

TYPE_CHECKING = False  # importing typing and collections.abc costs milliseconds
if TYPE_CHECKING:
    from collections.abc import Iterable

# Signals of faults and broken pipes, which a process may also cause itself; then it must not handle them.
CAUSED = frozenset({signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGPIPE})
# All other signals that a process can catch, except for SIGCHLD.
SIGNALS = frozenset(signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD} - CAUSED)
# Signals after which a task is no longer recovered.
ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
# Signals by which the keeper reports a signal to the program alone, which does not end the job.
ALONE = {signum: signal.SIGRTMIN + 9 + place for place, signum in enumerate(ENDING)}
ONE, GROUP, EVERYBODY = "one", "group", "everybody"
# Seconds within which a signal sent to many processes has reached all of them.
_SENDING = 0.05
_LOOK = 0.002
# Seconds within which a repeated signal to all processes counts as the same one: a pending signal is pending
# once, however often it was sent.
_AGAIN = 0.5
# Seconds for a new program to install a handler for a signal that came before the program started.
_BEGINNING = 1.0
_CATS = ("/bin/cat", "/usr/bin/cat")


def heard() -> list[int]:
    """Return the signals that the caller does not have ignored (nohup), for this process and its task.

    SIGXFSZ is always among them, since only Python itself ignores it.
    """
    every = [signum for signum in SIGNALS if signal.getsignal(signum) is not signal.SIG_IGN]
    return [*{*every, signal.SIGXFSZ}]


def pass_caused(write: int) -> None:
    """Write the number of each signal of ``CAUSED`` that another process sends to this one to a pipe.

    The signals are blocked from now on. The kernel keeps sent signals for the waiting thread, and still kills
    this process after a fault of its own.

    Args:
        write: the pipe's end for writing.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, CAUSED)

    def wait() -> None:
        while True:
            os.write(write, bytes((signal.sigwait(CAUSED),)))

    threading.Thread(target=wait, daemon=True).start()


class _Pair:
    """Two witnesses. ``near``: the one in the keeper's process group; ``far``: the other; 0: not started.

    Args:
        cat: a program that does nothing until its standard input ends.
        read: the pipe that the witnesses read from.
    """

    def __init__(self, cat: str, read: int) -> None:
        self.near = self.far = 0
        self.told: set[int] = set()  # signals that these witnesses have shown already
        actions = [
            (os.POSIX_SPAWN_DUP2, read, 0),
            *((os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_WRONLY, 0) for number in (1, 2)),
            # A lock of the caller's would be held until the witnesses have ended, a moment after the keeper.
            *((os.POSIX_SPAWN_CLOSE, number) for number, *_ in standard_streams.further()),
        ]
        with contextlib.suppress(OSError):
            self.far, self.near = (
                os.posix_spawn(
                    cat, ["cat"], {}, file_actions=actions, setsid=far, setsigmask=SIGNALS | CAUSED
                )
                for far in (True, False)
            )

    def reach(self, signum: int) -> str:
        """Return the processes that a signal was sent to, '' where these witnesses were not, or have told.

        Args:
            signum: the signal.
        """
        if signum in self.told:
            return ""
        near, far = (bool(_pending(pid) >> (signum - 1) & 1) for pid in (self.near, self.far))
        return EVERYBODY if far else GROUP if near else ""

    def end(self) -> None:
        """Kill both witnesses."""
        for pid in (self.near, self.far):
            if pid:
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
                    os.waitpid(pid, 0)


class Witnesses:
    """The present pair of witnesses, and the pair before it. The witnesses end with this process.

    A pending signal stays pending, so a new pair is started for the next signals. The earlier pair has seen
    signals that came before the new pair was ready (Slurm sends TERM two milliseconds after CONT).
    """

    def __init__(self) -> None:
        # All witnesses read from this pipe, until this process closes its other end.
        self._read, self._held = os.pipe2(os.O_CLOEXEC)
        self._cat = next((path for path in _CATS if os.access(path, os.X_OK)), "")
        self._everybody: dict[int, float] = {}  # when each signal was last sent to all processes
        self._pairs = [self._begin()]

    def _begin(self) -> _Pair:
        return _Pair(self._cat, self._read)

    def reach(self, signums: Iterable[int], deadly: Iterable[int] = ()) -> dict[int, str]:
        """Return for each signal that this process has just received the processes it was meant for.

        Args:
            signums: the signals.
            deadly: those that end the program. Such a signal is passed on soon, since every signal is meant
                for the program, and no program dies twice.
        """
        wanted, began = set(signums), time.monotonic()
        found = {
            signum: EVERYBODY for signum in wanted if began - self._everybody.get(signum, -_AGAIN) < _AGAIN
        }
        while True:
            found |= {signum: reach for signum in wanted - set(found) if (reach := self._reach(signum))}
            patience = _SENDING if wanted - set(found) - set(deadly) else _LOOK
            if set(found) == wanted or time.monotonic() >= began + patience:
                break
            time.sleep(_LOOK)
        found = dict.fromkeys(wanted, ONE) | found
        self._everybody |= dict.fromkeys(
            (signum for signum, reach in found.items() if reach == EVERYBODY), time.monotonic()
        )
        for pair in self._pairs:
            pair.told |= wanted
        for pair in self._pairs[:-1]:
            pair.end()
        self._pairs = self._pairs[-1:]
        self._pairs.append(self._begin())
        return found

    def _reach(self, signum: int) -> str:
        """Return which processes a signal was sent to, by the oldest pair of witnesses that tells; or ""."""
        return next((reach for pair in self._pairs if (reach := pair.reach(signum))), "")


def _pending(pid: int) -> int:
    """Return the pending signals of a process, as a bit mask; 0 for none."""
    found = 0
    with contextlib.suppress(OSError):
        for line in (procfs.content(f"/proc/{pid}/status") or b"").splitlines() if pid else ():
            if line.startswith((b"SigPnd:", b"ShdPnd:")):
                found |= int(line.split()[1], 16)
    return found


class Program:
    """The program that a runner has started, the leader of its process group."""

    def __init__(self, runner: int) -> None:
        """Watch a runner's program.

        Args:
            runner: the runner's process number.
        """
        self._runner = runner
        self._began = 0.0

    def send(self, signum: int, reach: str, *, early: bool) -> bool:
        """Send a signal to the program; return False when the program is not ready yet.

        Args:
            signum: the signal.
            reach: the processes that the signal was meant for.
            early: whether the signal came before the program started, which then has a second to handle it.
        """
        pid = self.main()
        if not pid:
            return False
        self._began = self._began or time.monotonic()
        if early and not _handles(pid, signum) and time.monotonic() < self._began + _BEGINNING:
            return False
        with contextlib.suppress(OSError):
            if reach == GROUP and os.getpgid(pid) == pid:
                os.killpg(pid, signum)
            else:
                os.kill(pid, signum)
        return True

    def handles(self, signum: int) -> bool:
        """Whether the program runs, and handles, ignores or blocks a signal."""
        pid = self.main()
        return bool(pid) and _handles(pid, signum)

    def main(self) -> int:
        """Return the program's process number, 0 until the runner's child has executed the program."""
        own, name = _described(self._runner)
        for pid in children(self._runner):
            line, called = _described(pid)
            # Between fork and exec, the child is a copy of the runner, with the same name.
            if line and (line, called) != (own, name):
                return pid
        return 0


def _described(pid: int) -> tuple[bytes, bytes]:
    """Return a process's command line and its name."""
    return procfs.content(f"/proc/{pid}/cmdline") or b"", procfs.content(f"/proc/{pid}/comm") or b""


def _handles(pid: int, signum: int) -> bool:
    """Whether a process handles, ignores or blocks a signal; one that is gone needs no handler."""
    if b"sigtimedwait" in (procfs.content(f"/proc/{pid}/wchan") or b""):
        return True  # while sigwait(3) waits, the kernel does not show its signals as blocked
    masks = [
        int(line.split()[1], 16)
        for line in (procfs.content(f"/proc/{pid}/status") or b"").splitlines()
        if line.startswith((b"SigCgt:", b"SigIgn:", b"SigBlk:"))
    ]
    return not masks or any(mask >> (signum - 1) & 1 for mask in masks)


def children(pid: int) -> list[int]:
    """Return the numbers of a process's children."""
    told = procfs.content(f"/proc/{pid}/task/{pid}/children")
    if told is not None:
        return [int(word) for word in told.split()]
    found = []  # a kernel without CONFIG_PROC_CHILDREN, or the process is gone
    for name in os.listdir("/proc"):  # noqa: PTH208  # strings
        if name.isdigit() and procfs.status_fields(int(name))[1:2] == [str(pid).encode()]:
            found.append(int(name))
    return found


def die(signum: int) -> None:
    """End this process by the signal that the program has died of, without a second core dump."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    with contextlib.suppress(OSError):  # SIGKILL, unlike other signals, has no handler to set
        signal.signal(signum, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signum})
    os.kill(os.getpid(), signum)


def hold_signals() -> None:
    """Block signals until a keeper listens and passes them on. Runners give programs their caller's mask."""
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
