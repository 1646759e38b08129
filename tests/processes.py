"""Processes that may end at any moment, also while they are looked at."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator

import psutil

from whesl.testing.processes import running


def words(process: psutil.Process) -> list[str]:
    """Return a process's command line; nothing of one that has ended."""
    try:
        return list(process.cmdline())
    except psutil.Error:
        return []


def lives(process: psutil.Process) -> bool:
    """Return whether a process exists and is no zombie."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def descriptors() -> dict[str, str]:
    """Return what each open descriptor of this process leads to."""
    with os.scandir("/proc/self/fd") as found:
        names = [entry.name for entry in found]
    led = {}
    for name in names:
        with contextlib.suppress(FileNotFoundError):  # that of the search itself
            led[name] = os.readlink(f"/proc/self/fd/{name}")  # noqa: PTH115 - what it leads to may be no path
    return led


@contextlib.contextmanager
def nothing_left_open() -> Iterator[None]:
    """Check that no descriptor is open that was opened meanwhile.

    Others of this process may be closed at any moment: those of what earlier tests have left as garbage.
    """
    before = descriptors()
    yield
    left = {name: what for name, what in descriptors().items() if before.get(name) != what}
    assert not left


def below(pid: int) -> list[psutil.Process]:
    """Return all that a process has started and what that has; nothing of one that has ended."""
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def send(process: psutil.Process, signum: int) -> None:
    """Send a signal to a process; one that was a fork or a passing command when it was found may be gone."""
    with contextlib.suppress(psutil.NoSuchProcess):
        process.send_signal(signum)


def originals(found: list[psutil.Process]) -> list[psutil.Process]:
    """Return those whose parent is not among them: a fork looks like its parent until it runs its program."""
    pids = {process.pid for process in found}
    kept = []
    for process in found:
        with contextlib.suppress(psutil.NoSuchProcess):
            if process.ppid() not in pids:
                kept.append(process)
    return kept


def variable(process: psutil.Process, name: str) -> str:
    """Return a variable of a process's environment; nothing where it has none, or has ended."""
    try:
        return str(process.environ().get(name, ""))
    except psutil.Error:
        return ""


def mentioning(*texts: str, among: Iterable[psutil.Process] | None = None) -> list[psutil.Process]:
    """Return the processes (of this machine) that have one of these texts in command line or environment."""
    found = []
    for process in running() if among is None else among:
        try:
            told = [*process.cmdline(), *(f"{name}={value}" for name, value in process.environ().items())]
        except psutil.Error:
            continue
        if any(text in line for text in texts for line in told):
            found.append(process)
    return found
