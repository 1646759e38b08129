"""Signals to an attempt's processes, at once or as soon as its program handles them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from whesl.managers.resource.command_call import send
from whesl.model.launcher_programs import LAUNCHERS
from whesl.runtime.node_agent.fencing.attempt_processes import of_attempt

FIRST_WAIT = 0.1
LONGEST_WAIT = 10.0


class HeldSignal:
    """A signal that waits for a program that handles it.

    A program that is still loading has no handler yet, and the signal's default action would end it. Sending
    is retried, less and less often, until a process was sent the signal or the attempt is over.
    """

    def __init__(self) -> None:
        self._send: Callable[[], int | None] | None = None
        self._wait = FIRST_WAIT
        self._due = 0.0

    @property
    def due(self) -> float | None:
        """When ``poll`` has to be called, monotonic seconds; None when no signal waits."""
        return self._due if self._send is not None else None

    def hold(self, send: Callable[[], int | None], now: float) -> None:
        """Hold a signal, in place of an earlier one.

        Args:
            send: sends the signal, and returns the number of processes; None when the attempt is over.
            now: monotonic seconds.
        """
        self._send, self._wait, self._due = send, FIRST_WAIT, now

    def poll(self, now: float) -> None:
        """Send the held signal when a try is due; ``now`` as for ``hold``."""
        if self._send is None or now < self._due:
            return
        if self._send() == 0:
            self._due = now + self._wait
            self._wait = min(2 * self._wait, LONGEST_WAIT)
        else:
            self._send = None


def signal_catching(
    token: str, runner: int | None, signum: int, spare: Iterable[int] = (), *, node: str = ""
) -> int:
    """Send a signal to an attempt's processes that handle it, and return their number.

    Launchers are left out, since they would pass the signal on to all their ranks.

    Args:
        token: the attempt's token.
        runner: the runner's process number, if it runs here.
        signum: the signal.
        spare: numbers of processes that are left out.
        node: as for ``attempt_processes.look``.
    """
    processes = of_attempt(token, runner, spare=spare, node=node)
    chosen = [
        process
        for process in processes
        if process.pid != runner and process.name not in LAUNCHERS and _catches(process.pid, signum)
    ]
    for process in chosen:
        send(process.pid, signum)
    return len(chosen)


def _catches(pid: int, signum: int) -> bool:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return False
    mask = next((line.split()[1] for line in lines if line.startswith("SigCgt:")), "0")
    return bool(int(mask, 16) >> (signum - 1) & 1)
