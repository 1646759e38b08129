"""Signals on their way from the keeper to the program: each reaches the processes that it is meant for, once.

The program runs in a process group of its own, so of a signal to the keeper it hears, depending on who sends
it how,

* nothing: the signal was meant for one process (``sbatch --signal=B:``, ``scancel --batch``, kill(1));
* nothing: it was meant for the keeper's process group (``scancel --full``, a terminal's Ctrl-C);
* the same signal: it was meant for all processes of the job (Slurm's time limit, suspension).

Two witnesses tell which. Both block all signals and do nothing: one is in the keeper's process group, the
other in a session of its own, as the program's runner is. What the kernel shows to be pending for them was
sent to them too. Standard library only.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import threading
import time

from whesl.runtime.locking import procfs

TYPE_CHECKING = False  # typing and collections.abc cost milliseconds
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# Faults and broken pipes: a process causes them itself, too, and cannot go on after one that it handles so.
CAUSED = frozenset({signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGPIPE})
# All others that a process can catch, but for its children's ends.
SIGNALS = frozenset(signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD} - CAUSED)
# After one of these signals a task is not recovered any more.
ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
# Signals by which the keeper tells the isolator of a signal to the program alone, which is no end of the job.
ALONE = {signum: signal.SIGRTMIN + 9 + place for place, signum in enumerate(ENDING)}
ONE, GROUP, EVERYBODY = "one", "group", "everybody"
# Seconds within which a signal that is sent to many processes has reached all of them.
_SENDING = 0.05
_LOOK = 0.002
# Seconds within which a repeated signal to all processes counts as the same one: a pending signal is pending
# once, however often it was sent.
_AGAIN = 0.5
# Seconds that a program has to handle a signal that came before the program had started.
_BEGINNING = 1.0
_CATS = ("/bin/cat", "/usr/bin/cat")


def heard() -> list[int]:
    """Return the signals that this process does not ignore by its caller's wish (nohup), as its task.

    Python itself ignores SIGXFSZ.
    """
    every = [signum for signum in SIGNALS if signal.getsignal(signum) is not signal.SIG_IGN]
    return [*{*every, signal.SIGXFSZ}]


def pass_caused(write: int) -> None:
    """Write the number of each of these signals that somebody sends to this process to a pipe.

    They are blocked from here on. The kernel keeps what was sent for a thread that waits, and still ends a
    process by a fault of its own.

    Args:
        write: the pipe's end.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, CAUSED)

    def wait() -> None:
        while True:
            os.write(write, bytes((signal.sigwait(CAUSED),)))

    threading.Thread(target=wait, daemon=True).start()


class _Pair:
    """Two witnesses. ``near`` is in the keeper's process group; 0 where one could not be started.

    Args:
        cat: a program that does nothing until its standard input ends.
        read: the pipe that they read from.
    """

    def __init__(self, cat: str, read: int) -> None:
        self.near = self.far = 0
        self.told: set[int] = set()  # signals that these witnesses have shown already
        actions = [
            (os.POSIX_SPAWN_DUP2, read, 0),
            *((os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_WRONLY, 0) for number in (1, 2)),
        ]
        with contextlib.suppress(OSError):
            self.near, self.far = (
                os.posix_spawn(
                    cat, ["cat"], {}, file_actions=actions, setsid=far, setsigmask=SIGNALS | CAUSED
                )
                for far in (False, True)
            )

    def saw(self, signum: int, *, far: bool) -> bool:
        """Whether a signal was sent to one of the witnesses since they last showed it."""
        return signum not in self.told and bool(_pending(self.far if far else self.near) >> (signum - 1) & 1)

    def end(self) -> None:
        """End both."""
        for pid in (self.near, self.far):
            if pid:
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
                    os.waitpid(pid, 0)


class Witnesses:
    """The two witnesses, and the two before them. They end with this process.

    A pending signal stays pending, so new witnesses take the place of these for the next signals. The earlier
    two have seen what was sent meanwhile (Slurm sends TERM two milliseconds after CONT).
    """

    def __init__(self) -> None:
        # All witnesses read from this pipe, until this process closes its other end.
        self._read, self._held = os.pipe2(os.O_CLOEXEC)
        self._cat = next((path for path in _CATS if os.access(path, os.X_OK)), "")
        self._everybody: dict[int, float] = {}  # when each signal was last sent to all processes
        self._pairs = [self._begin()]

    def _begin(self) -> _Pair:
        return _Pair(self._cat, self._read)

    def reach(self, signums: Iterable[int]) -> dict[int, str]:
        """Return for which processes the signals were meant that this process has just received."""
        wanted, began = set(signums), time.monotonic()
        found = {
            signum: EVERYBODY for signum in wanted if began - self._everybody.get(signum, -_AGAIN) < _AGAIN
        }
        deadline = began + _SENDING
        while set(found) != wanted:
            found |= {signum: EVERYBODY for signum in wanted - set(found) if self._saw(signum, far=True)}
            if time.monotonic() >= deadline:
                found |= {
                    signum: GROUP if self._saw(signum, far=False) else ONE for signum in wanted - set(found)
                }
                break
            time.sleep(_LOOK)
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

    def _saw(self, signum: int, *, far: bool) -> bool:
        return any(pair.saw(signum, far=far) for pair in self._pairs)


def _pending(pid: int) -> int:
    """Return the signals that wait for a process, as a set of bits; 0 where there is none."""
    found = 0
    with contextlib.suppress(OSError):
        for line in (procfs.content(f"/proc/{pid}/status") or b"").splitlines() if pid else ():
            if line.startswith((b"SigPnd:", b"ShdPnd:")):
                found |= int(line.split()[1], 16)
    return found


class Program:
    """The program that a runner has started, the leader of its process group."""

    def __init__(self, runner: int) -> None:
        """Args: runner: the runner's process number."""
        self._runner = runner
        self._began = 0.0

    def send(self, signum: int, reach: str, *, early: bool) -> bool:
        """Send a signal to the program; False when it is not there yet.

        Args:
            signum: the signal.
            reach: the processes that it was meant for.
            early: it came before the program was there, so the program is given a second to handle it.
        """
        pid = self._main()
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

    def _main(self) -> int:
        """Return the program's process number, 0 as long as the runner has not become it."""
        own, name = _described(self._runner)
        for pid in children(self._runner):
            line, called = _described(pid)
            # Between fork and exec the child is a copy of the runner, by its name, too.
            if line and (line, called) != (own, name):
                return pid
        return 0


def _described(pid: int) -> tuple[bytes, bytes]:
    """Return a process's command line and its name."""
    return procfs.content(f"/proc/{pid}/cmdline") or b"", procfs.content(f"/proc/{pid}/comm") or b""


def _handles(pid: int, signum: int) -> bool:
    for line in (procfs.content(f"/proc/{pid}/status") or b"").splitlines():
        if line.startswith(b"SigCgt:"):
            return bool(int(line.split()[1], 16) >> (signum - 1) & 1)
    return True  # the process is gone


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
    """End this process by a signal that the program has died of; the core is the program's."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    with contextlib.suppress(OSError):  # SIGKILL has no handler
        signal.signal(signum, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signum})
    os.kill(os.getpid(), signum)


def hold_signals() -> None:
    """Let signals wait until a keeper listens, which passes them on."""
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)


@contextlib.contextmanager
def signals_kept() -> Iterator[None]:
    """Let a task be written down and started: no signal is blocked in it, and none that comes is lost.

    Afterwards signals wait, as after ``hold_signals``, those that came meanwhile among them.
    """
    came: list[int] = []
    before = {signum: signal.getsignal(signum) for signum in heard()}
    for signum in before:
        signal.signal(signum, lambda number, _: came.append(number))  # a handler is not inherited by programs
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    try:
        yield
    finally:
        hold_signals()
        for signum, handler in before.items():
            signal.signal(signum, handler)
        for number in came:
            os.kill(os.getpid(), number)
