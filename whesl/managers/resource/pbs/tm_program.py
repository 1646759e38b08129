"""Runs a command on nodes of a PBS job by PBS's task manager. Run as a file, standard library only.

``tm_program.py [--pbsdsh=OPTIONS | --pbs_tmrsh=] NODES COMMAND...`` starts the command once on each node, and
ends with the first failure's status. NODES are indexes into PBS_NODEFILE with names, ``0=n01 2=n03``. The
tasks get the program's environment. libpbs talks to this node's execution daemon, which starts tasks on all
nodes (tm(3) of openpbs 23.06).

In a launcher's place the program does what the launcher does (src/cmds/pbsdsh.c of openpbs 23.06): it ends by
the same signals. As ``pbsdsh`` it has the options ``s`` (one task after the other), ``o`` (the tasks' ends
are not waited for) and ``v``, tells statuses other than 0, and ends with 0.
"""

from __future__ import annotations

import ctypes
import glob
import os
import signal
import sys

TYPE_CHECKING = False  # typing costs milliseconds
if TYPE_CHECKING:
    from typing import NoReturn

# Variables that each node's execution daemon sets for its task itself.
_OF_NODE = ("PBS_NODENUM", "PBS_TASKNUM", "PBS_MOMPORT", "PBS_JOBCOOKIE", "NCPUS", "_")
NODE = "WHESL_NODE"
_SIGNAL = 256  # PBS adds this to the number of the signal that ended a task
_NO_TASK = 69


class _Roots(ctypes.Structure):
    _fields_ = (
        ("me", ctypes.c_uint),
        ("parent", ctypes.c_uint),
        ("nodes", ctypes.c_int),
        ("tasks", ctypes.c_int),
        ("pool", ctypes.c_int),
        ("list", ctypes.c_void_p),
    )


def library() -> ctypes.CDLL:
    """Return libpbs of the PBS installation that the job's configuration names. Raises OSError."""
    places = [os.environ.get("PBS_EXEC", "")]
    try:
        with open(os.environ.get("PBS_CONF_FILE", "/etc/pbs.conf"), encoding="utf-8") as file:  # noqa: PTH123
            places += [line[9:].strip().strip('"') for line in file if line.startswith("PBS_EXEC=")]
    except OSError:
        pass
    for place in filter(None, [*places, "/opt/pbs"]):
        for found in sorted(glob.glob(f"{place}/lib*/libpbs.so*")):  # noqa: PTH207
            return ctypes.CDLL(found)
    return ctypes.CDLL("libpbs.so")


def fail(words: str) -> NoReturn:
    """Print an error message and end the process."""
    sys.stderr.write(f"whesl: the task manager of PBS: {words}\n")
    sys.exit(_NO_TASK)


def say(words: str) -> None:
    """Print a line as pbsdsh prints it."""
    sys.stdout.write(f"pbsdsh: {words}\n")


def words(texts: list[str]) -> ctypes.Array[ctypes.c_char_p]:
    """Return texts as a C array of strings that ends with NULL."""
    return (ctypes.c_char_p * (len(texts) + 1))(*[os.fsencode(text) for text in texts], None)


def run(table: list[tuple[int, str]], command: list[str], options: str | None, caught: list[int]) -> int:
    """Start the tasks, wait for their ends, and return the first failure's status in the order of the nodes.

    Args:
        table: each task's node, as index into PBS_NODEFILE and name.
        command: the command and its arguments.
        options: the letters of pbsdsh's options; None for another launcher, and for a step of WHESL.
        caught: grows with the signals that this process receives.
    """
    tm = library()
    if tm.tm_init(None, ctypes.byref(_Roots())) != 0:
        fail("no answer from the execution daemon of this node; is this the first node of a running job?")
    nodes, count = ctypes.POINTER(ctypes.c_int)(), ctypes.c_int()
    if tm.tm_nodeinfo(ctypes.byref(nodes), ctypes.byref(count)) != 0:
        fail("it does not tell the job's nodes")
    shared = [f"{name}={value}" for name, value in os.environ.items() if name not in _OF_NODE]
    argv, statuses = words(command), [_NO_TASK] * len(table)
    starting: dict[int, tuple[int, ctypes.c_uint]] = {}
    running: dict[int, tuple[int, ctypes.c_uint, ctypes.c_int]] = {}
    letters = options or ""
    for place, (index, name) in enumerate(table):
        task, event = ctypes.c_uint(), ctypes.c_int()
        where = nodes[index] if index < count.value else -1
        environ = words([*shared, f"{NODE}={name}"])
        if tm.tm_spawn(len(command), argv, environ, where, ctypes.byref(task), ctypes.byref(event)) == 0:
            starting[event.value] = (place, task)
            if "v" in letters:
                say(f"spawned task 0x{place:08X} on logical node {where} event {event.value}")
        while (starting or running) and ("s" in letters or place == len(table) - 1):
            if "v" in letters:
                say(f"waiting on {len(starting)} spawned and {len(running)} obits")
            if caught and options is not None:
                for task in [*(one[1] for one in starting.values()), *(one[1] for one in running.values())]:
                    say(f"killing task 0x{task.value:08X} signal {caught[0]}")
                    tm.tm_kill(task, caught[0], ctypes.byref(ctypes.c_int()))
                tm.tm_finalize()
                return 1
            event, error = ctypes.c_int(), ctypes.c_int()
            if tm.tm_poll(0, ctypes.byref(event), 1, ctypes.byref(error)) != 0:
                fail("the connection to the execution daemon is lost")
            if event.value in starting:
                begun, task = starting.pop(event.value)
                status, ended = ctypes.c_int(), ctypes.c_int()
                if error.value == 0 and "o" in letters:
                    statuses[begun] = 0
                elif error.value == 0 and tm.tm_obit(task, ctypes.byref(status), ctypes.byref(ended)) == 0:
                    running[ended.value] = (begun, task, status)
            elif event.value in running:
                begun, _, status = running.pop(event.value)
                if error.value == 0:
                    statuses[begun] = shell_status(status.value)
                if options is not None and (status.value or "v" in letters):
                    say(f"task 0x{begun:08X} exit status {status.value}")
    return 0 if options is not None else next((status for status in statuses if status), 0)


def shell_status(status: int) -> int:
    """Return a task's status as a shell gives it."""
    return 128 + status % _SIGNAL if status > _SIGNAL else status & 255


def main() -> None:
    """Run the program; for a step of WHESL signals are ignored, since it has to return the tasks' status."""
    launcher, _, options = sys.argv[1].partition("=") if sys.argv[1].startswith("--") else ("", "", "")
    caught: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
        own = launcher and (launcher == "--pbs_tmrsh" or number in (signal.SIGUSR1, signal.SIGUSR2))
        signal.signal(number, signal.SIG_DFL if own else lambda number, _: caught.append(number))
    if launcher:
        # Signals and stacks are for programs: WHESL leaves launchers out by their processes' names.
        with open("/proc/self/comm", "w", encoding="ascii") as name:  # noqa: PTH123 - pathlib costs milliseconds
            name.write(launcher[2:])
    nodes, *command = sys.argv[1 + bool(launcher) :]
    table = [(int(index), name) for index, _, name in (word.partition("=") for word in nodes.split())]
    try:
        sys.exit(run(table, command, options if launcher == "--pbsdsh" else None, caught))
    except OSError as error:
        fail(f"no libpbs: {error}")


if __name__ == "__main__":
    main()
