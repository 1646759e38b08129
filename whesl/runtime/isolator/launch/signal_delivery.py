"""Signals on their way from the keeper to the program: each comes to those whom it was meant for, once.

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
import time

from whesl.runtime.locking import procfs

TYPE_CHECKING = False  # typing and collections.abc cost milliseconds
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_FAULTS = {signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL}
# All that a process can catch, but for what it causes itself: faults, children's ends, broken pipes.
SIGNALS = frozenset(
    signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD, signal.SIGPIPE} - _FAULTS
)
# After these a task is not recovered any more.
ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
# By these the keeper tells the isolator of one that came to the program alone, and is no end of the job.
ALONE = {signum: signal.SIGRTMIN + 9 + place for place, signum in enumerate(ENDING)}
ONE, GROUP, EVERYBODY = "one", "group", "everybody"
# Seconds within which who sends a signal to many has sent it to all of them.
_SENDING = 0.05
_LOOK = 0.002
# Seconds for which a signal to everybody is not taken for another one when it comes again: what is pending is
# pending once.
_AGAIN = 0.5
# Seconds for which a program may take to handle a signal that came before it was there.
_BEGINNING = 1.0
_CATS = ("/bin/cat", "/usr/bin/cat")


def heard() -> list[int]:
    """Return what this process does not ignore by its caller's wish, as under nohup; so shall its task.

    Python itself ignores SIGXFSZ.
    """
    every = [signum for signum in SIGNALS if signal.getsignal(signum) is not signal.SIG_IGN]
    return [*{*every, signal.SIGXFSZ}]


class _Pair:
    """Two witnesses. ``near`` is in the keeper's process group; 0 where one could not be started.

    Args:
        cat: a program that does nothing until its standard input ends.
        read: what they read from.
    """

    def __init__(self, cat: str, read: int) -> None:
        self.near = self.far = 0
        self.told: set[int] = set()  # signals of which they have told already
        actions = [
            (os.POSIX_SPAWN_DUP2, read, 0),
            *((os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_WRONLY, 0) for number in (1, 2)),
        ]
        with contextlib.suppress(OSError):
            self.near, self.far = (
                os.posix_spawn(cat, ["cat"], {}, file_actions=actions, setsid=far, setsigmask=SIGNALS)
                for far in (False, True)
            )

    def saw(self, signum: int, *, far: bool) -> bool:
        """Whether a signal was sent to one of them since they told of it last."""
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

    What is pending stays so: for the next signals others take their place. Those before them have seen what
    was sent meanwhile (Slurm sends TERM two milliseconds after CONT).
    """

    def __init__(self) -> None:
        # All read from this pipe for as long as this process holds its other end.
        self._read, self._held = os.pipe2(os.O_CLOEXEC)
        self._cat = next((path for path in _CATS if os.access(path, os.X_OK)), "")
        self._everybody: dict[int, float] = {}  # when each signal was sent to everybody last
        self._pairs = [self._begin()]

    def _begin(self) -> _Pair:
        return _Pair(self._cat, self._read)

    def reach(self, signums: Iterable[int]) -> dict[int, str]:
        """Return for whom signals were meant that this process has been sent just now."""
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
            reach: for whom it was meant.
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
            # Between fork and exec it is a copy of the runner; what stays a fork gives itself another name.
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
    return True  # it is gone


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
    """Let signals wait until a keeper listens, who passes them on."""
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)


@contextlib.contextmanager
def signals_kept() -> Iterator[None]:
    """Let a task be started meanwhile: no signal is blocked in it, and none that comes is lost.

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
