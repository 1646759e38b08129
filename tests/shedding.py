"""A program that sheds what an attempt's processes are known by: ``python shedding.py KIND FILE``.

It appends to FILE every 50 ms for as long as it lives, and ends when ``done`` stands beside FILE. KIND:

* ``title``: writes over its environment, as setproctitle does;
* ``cleared``: the same program again with no environment at all (``env -i``);
* ``daemon``: forks twice, begins a session of its own, and starts the program again without an environment;
* ``undumpable``: ``cleared``, and its /proc files belong to root (PR_SET_DUMPABLE, prctl(2));
* ``leaderless``: its first thread ends and another one goes on, so it looks like a zombie (pthread_exit(3)).
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
import time

KINDS = ("title", "cleared", "daemon", "undumpable", "leaderless")
PATIENCE = 120.0
_PR_SET_DUMPABLE = 4
_LIBC = ctypes.CDLL(None)


def _overwrite() -> None:
    environment = ctypes.POINTER(ctypes.c_void_p).in_dll(_LIBC, "environ")
    index = 0
    while (text := environment[index]) is not None:
        ctypes.memset(text, 0, len(ctypes.string_at(text)))
        index += 1


def _again(kind: str, file: str) -> None:
    os.execve(sys.executable, [sys.executable, __file__, kind, file], {})


def _live(file: str) -> None:
    deadline = time.monotonic() + PATIENCE
    done = os.path.join(os.path.dirname(file), "done")  # noqa: PTH118, PTH120  # loads little
    while time.monotonic() < deadline and not os.path.exists(done):  # noqa: PTH110
        with open(file, "a") as beats:  # noqa: PTH123
            beats.write("x")
        time.sleep(0.05)


def main(kind: str, file: str) -> None:
    """Shed, and live."""
    if kind == "title":
        _overwrite()
    elif kind in ("cleared", "undumpable"):
        _again(f"{kind}-now", file)
    elif kind == "undumpable-now":
        _LIBC.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    elif kind == "leaderless":
        threading.Thread(target=_live, args=(file,)).start()
        _LIBC.pthread_exit(None)
    elif kind == "daemon":
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                for descriptor in range(3):
                    os.dup2(os.open(os.devnull, os.O_RDWR), descriptor)
                _again("daemon-now", file)
            os._exit(0)
        os.wait()
        _live(f"{file}-parent")
        return
    _live(file)


if __name__ == "__main__":
    main(*sys.argv[1:])
