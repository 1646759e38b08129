"""Processes that may end at any moment, also while they are looked at."""

from __future__ import annotations

import contextlib

import psutil


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
