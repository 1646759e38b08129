"""The stacks of hung processes, read before the processes are killed.

For each process this reads the state, the place of sleep in the kernel, the system call and the command line
from ``/proc``, then the stacks of its threads, where this user may trace it. The cheap part is read for all
processes first, so that a debugger that hangs costs only its own part.

``py-spy`` (on PATH, or installed beside WHESL) reads Python programs. Where it gives no stack, the program is
asked: one that has called ``faulthandler.register(SIGNAL)``, with the signal's name in
``WHESL_STACKS_SIGNAL``, prints its stacks to its own standard error. ``gdb`` reads other programs. Shells and
launchers only wait, so no debugger is started for them; a debugger that has found no frame is not started
again.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from whesl.model.launcher_programs import NO_RANKS

TOTAL_LIMIT = 15.0  # seconds, for all processes together
DEBUGGER_LIMIT = 5.0  # seconds, for one debugger on one process
SIZE_LIMIT = 256 * 1024  # characters of the whole text
PROCESS_LIMIT = 64
_PART_LIMIT = 32 * 1024  # characters from one file or debugger
STACKS_SIGNAL = "WHESL_STACKS_SIGNAL"
_SHELLS = frozenset({"sh", "bash", "dash", "ksh", "zsh", "busybox", "env", "sleep", "tee", "time", "timeout"})
_WAITING = _SHELLS | NO_RANKS
_FRAME = {
    "py-spy": "Thread ",
    "gdb": "#0 ",
}  # a text in the debugger's output that shows a found frame
_STATUS = ("Name", "State", "PPid", "Threads", "VmRSS", "SigBlk", "SigIgn")


def collect(pids: Sequence[int], *, timeout: float = TOTAL_LIMIT) -> str:
    """Return the stacks of processes as text. Blocks for at most about ``timeout`` seconds.

    Args:
        pids: processes, the most interesting first; those that have gone meanwhile are named as gone.
        timeout: seconds in total.

    Raises nothing: the text names the parts that could not be read.
    """
    deadline = time.monotonic() + timeout
    chosen = list(dict.fromkeys(pids))[:PROCESS_LIMIT]
    parts = [_kernel_view(pid) for pid in chosen]
    vain: set[str] = set()  # debuggers that have found no frame
    for pid in chosen:
        parts += _debugger_view(pid, deadline, vain)
    if len(chosen) < len(set(pids)):
        parts.append(f"{len(set(pids)) - len(chosen)} more processes were not looked at\n")
    text = "\n".join(part for part in parts if part)
    return text if len(text) <= SIZE_LIMIT else text[:SIZE_LIMIT] + "\n(cut)\n"


def _kernel_view(pid: int) -> str:
    proc = Path("/proc") / str(pid)
    command = _read(proc / "cmdline").replace("\0", " ").strip()
    status = [line for line in _read(proc / "status").splitlines() if line.split(":")[0] in _STATUS]
    if not status:
        return f"== process {pid}: gone\n"
    lines = [f"== process {pid}: {command or '(no command line)'}", *status]
    lines += _thread_view(proc)
    for thread in _threads(proc):
        if thread != str(pid):
            name = _read(proc / "task" / thread / "comm").strip()
            lines += [f"-- thread {thread} ({name})", *_thread_view(proc / "task" / thread)]
    return "\n".join(lines)[:_PART_LIMIT] + "\n"


def _threads(proc: Path) -> list[str]:
    try:
        return sorted((task.name for task in (proc / "task").iterdir()), key=int)[:PROCESS_LIMIT]
    except OSError:
        return []


def _thread_view(place: Path) -> list[str]:
    lines = [f"{name}: {text}" for name in ("wchan", "syscall") if (text := _read(place / name).strip())]
    stack = _read(place / "stack").strip()
    return [*lines, "kernel stack:", stack] if stack else lines


def _read(path: Path) -> str:
    """Return a file of /proc; empty when it has gone, or may not be read."""
    try:
        with path.open("rb") as file:
            return file.read(_PART_LIMIT).decode("utf-8", "replace")
    except OSError:
        return ""


def _debugger_view(pid: int, deadline: float, vain: set[str]) -> list[str]:
    """Return the stacks of one process; add a debugger without a result to ``vain``."""
    executable = _executable(pid)
    if executable is None or executable in _WAITING:
        return []
    python = executable.startswith("python")
    name = "py-spy" if python else "gdb"
    views = []
    if name not in vain and (debugger := _found(name)):
        arguments = ["dump", "--nonblocking", "--pid", str(pid)]
        if not python:
            arguments = ["-nx", "-nh", "-batch", "-ex", "set pagination off"]
            arguments += ["-ex", "set debuginfod enabled off", "-ex", "thread apply all backtrace 64"]
            arguments += ["-p", str(pid)]
        view = _run([debugger, *arguments], pid, deadline)
        views.append(view)
        if _FRAME[name] in view:
            return views
        vain.add(name)
    return [*views, asked] if python and (asked := _asked(pid)) else views


def _found(name: str) -> str | None:
    """Return the path of a debugger: on PATH, or beside the running interpreter."""
    return shutil.which(name) or shutil.which(name, path=str(Path(sys.executable).parent))


def _asked(pid: int) -> str:
    """Send a process the signal that its environment names for stacks, if the process handles it."""
    words = _read(Path(f"/proc/{pid}/environ")).split("\0")
    name = next((word.partition("=")[2] for word in words if word.startswith(f"{STACKS_SIGNAL}=")), "")
    number = getattr(signal, f"SIG{name.upper().removeprefix('SIG')}", None)
    status = _read(Path(f"/proc/{pid}/status"))
    caught = next((line.split()[1] for line in status.splitlines() if line.startswith("SigCgt:")), "0")
    if not isinstance(number, signal.Signals) or not int(caught, 16) >> (number - 1) & 1:
        return ""
    try:
        os.kill(pid, number)
    except OSError:
        return ""
    return f"== process {pid} was asked by {number.name}: its stacks are in its standard error\n"


def _executable(pid: int) -> str | None:
    """Return the name of a process's program; None when it is gone, a zombie, or another user's."""
    try:
        return Path(f"/proc/{pid}/exe").readlink().name
    except OSError:
        return None


def _run(command: list[str], pid: int, deadline: float) -> str:
    """Run a debugger in a process group of its own, which is killed at the deadline."""
    title = f"== {Path(command[0]).name} of process {pid}"
    left = min(DEBUGGER_LIMIT, deadline - time.monotonic())
    if left <= 0:
        return f"{title}: no time left\n"
    try:
        debugger = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env={**os.environ, "LC_ALL": "C", "DEBUGINFOD_URLS": ""},
        )
    except OSError as error:
        return f"{title}: cannot be run: {error}\n"
    try:
        output, _ = debugger.communicate(timeout=left)
        note = ""
    except subprocess.TimeoutExpired:
        # The kernel detaches the traced process when gdb is killed, and the process runs on.
        os.killpg(debugger.pid, signal.SIGKILL)
        output = _rest(debugger)
        note = f" (killed after {left:.0f} s)"
    return f"{title}{note}\n{output.decode('utf-8', 'replace')[:_PART_LIMIT]}"


def _rest(killed: subprocess.Popen[bytes]) -> bytes:
    """Return the output of a killed debugger; a debugger that hangs in the kernel is not waited for."""
    try:
        return killed.communicate(timeout=1.0)[0]
    except subprocess.TimeoutExpired as error:
        return error.stdout or b""
