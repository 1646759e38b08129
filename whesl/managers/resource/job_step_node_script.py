"""Starts or signals a step's tasks on one node. Run as a file, standard library only.

``run COUNT COMMAND...`` runs the command COUNT times in parallel, and ends with the first failure's status.
``signal STEP NUMBER`` signals all processes of a step on this node; SIGKILL is repeated until none is left.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time

# The variable with a step's id; the same as in ``flux.exec_steps`` and ``pbs.tm_job_steps``, which cannot be
# imported from here.
STEP = "WHESL_STEP_ID"
# Seconds for which SIGKILL is repeated at most.
PATIENCE = 10.0
# Seconds between two looks that find no process.
SETTLE = 0.2


def run(count: int, command: list[str]) -> int:
    """Run a command's tasks in parallel and return the first failure's status.

    This process ignores signals, which are meant for the tasks, so that it outlives them.

    Args:
        count: the number of tasks.
        command: the command and its arguments.
    """
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
        signal.signal(number, lambda *_: None)  # a handler, unlike "ignore", is not inherited
    try:
        tasks = [subprocess.Popen(command) for _ in range(count)]
    except OSError as error:
        sys.stderr.write(f"{command[0]}: {error.strerror}\n")
        return 127
    statuses = [task.wait() for task in tasks]
    return next((status if status > 0 else 128 - status for status in statuses if status), 0)


def of_step(step: str) -> list[int]:
    """Return the living processes whose environment says that they belong to a step."""
    wanted = f"{STEP}={step}".encode()
    found = []
    for name in os.listdir("/proc"):  # noqa: PTH208 - numbers wanted
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            with open(f"/proc/{name}/environ", "rb") as file:  # noqa: PTH123
                if wanted not in file.read().split(b"\0"):
                    continue
            with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123
                state = file.read().rpartition(b")")[2].split()[0]
        except OSError:
            continue  # the process has ended, or belongs to another user
        if state not in (b"Z", b"X"):
            found.append(int(name))
    return found


def send(step: str, number: int) -> None:
    """Send a signal to a step's processes; SIGKILL is repeated until two looks in a row find no process.

    Args:
        step: the step's id.
        number: the signal's number.
    """
    deadline = time.monotonic() + PATIENCE
    empty = 0
    while empty < 2 and time.monotonic() < deadline:
        found = of_step(step)
        for pid in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)
        if number != signal.SIGKILL:
            return
        empty = 0 if found else empty + 1
        # A step that is just starting may create further processes: a second look has to find none, either.
        time.sleep(0.01 if found else SETTLE)


def main() -> None:
    """Run the command that the arguments name."""
    if sys.argv[1] == "run":
        sys.exit(run(int(sys.argv[2]), sys.argv[3:]))
    send(sys.argv[2], int(sys.argv[3]))


if __name__ == "__main__":
    main()
