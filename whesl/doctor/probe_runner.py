"""What a probe finds, how commands are asked in bounded time, and how all probes run at once."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from enum import Enum

import msgspec

COMMAND_LIMIT = 2.0
# Seconds for the work of a probe besides its commands; a dead file system never answers.
PROBE_LIMIT = 3.0
_OUTPUT_LIMIT = 256 * 1024


class State(str, Enum):
    """The state of a thing that was looked at.

    ``warn``: it works, with limits. ``missing``: it is not there and need not be. ``failed``: it is there and
    does not work, or is not there and has to be.
    """

    OK = "ok"
    WARN = "warn"
    MISSING = "missing"
    FAILED = "failed"


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was looked at; without ``group`` and ``name`` it has those of the probe that found it.

    ``advice`` says what to do about it, when there is anything to do.
    """

    group: str = ""
    name: str = ""
    state: State
    version: str = ""
    detail: str = ""
    advice: str = ""


def one(
    state: State, detail: str = "", advice: str = "", *, version: str = "", name: str = ""
) -> list[Finding]:
    """Return a list of one finding, for a probe that finds one."""
    return [Finding(name=name, state=state, version=version, detail=detail, advice=advice)]


Probe = Callable[[], list[Finding]]


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What a command answered. ``status`` is None when it was ``late`` or could not be started."""

    status: int | None
    late: bool = False
    output: str = ""
    error: str = ""

    @property
    def bad(self) -> State:
        """Return the state for this bad answer: a late one is a warning, as a busy machine is not broken."""
        return State.WARN if self.late else State.FAILED

    @property
    def why(self) -> str:
        """Return in one line why the command failed, "" when it succeeded."""
        if self.status == 0:
            return ""
        text = " ".join((self.error or self.output).split())[:200]
        return text or f"ended with status {self.status}"


def ask(*command: str, limit: float | None = None, environ: Mapping[str, str] | None = None) -> Answer | None:
    """Run a command and return its answer, None when there is no such command.

    Args:
        command: the command and its arguments.
        limit: seconds, 2 by default; then it and all it has started are killed.
        environ: its environment; this process's by default.
    """
    path = shutil.which(command[0])
    if path is None:
        return None
    limit = COMMAND_LIMIT if limit is None else limit
    try:
        process = subprocess.Popen(
            [path, *command[1:]],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=None if environ is None else dict(environ),
            start_new_session=True,
        )
    except OSError as error:
        return Answer(status=None, error=f"{path} could not be started: {error.strerror}")
    try:
        output, error_output = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=0.5)
        return Answer(status=None, late=True, error=f"{command[0]} did not answer within {limit:g} s")
    return Answer(status=process.returncode, output=_text(output), error=_text(error_output))


def _text(data: bytes) -> str:
    return data[:_OUTPUT_LIMIT].decode("utf-8", "replace")


def examine(
    probes: Sequence[tuple[str, str, Probe]], limit: float = PROBE_LIMIT + COMMAND_LIMIT
) -> list[Finding]:
    """Run probes at once and return their findings in the probes' order.

    Args:
        probes: group, name, and probe of each; the first two are those of its findings that have none.
        limit: seconds for all together.
    """
    results: list[list[Finding] | None] = [None] * len(probes)

    def run(index: int, probe: Probe) -> None:
        try:
            results[index] = probe()
        except Exception as error:  # a defect of a probe must not hide what the others found
            detail = f"could not be examined: {type(error).__name__}: {error}"
            results[index] = [Finding(state=State.FAILED, detail=detail)]

    # Daemon threads: one that hangs in a dead file system must not keep this process from ending.
    threads = [
        threading.Thread(target=run, args=(index, probe), daemon=True)
        for index, (_, _, probe) in enumerate(probes)
    ]
    deadline = time.monotonic() + limit
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    findings: list[Finding] = []
    for (group, name, _), result in zip(probes, results, strict=True):
        for finding in result if result is not None else [_silent(limit)]:
            filled = msgspec.structs.replace(finding, group=finding.group or group, name=finding.name or name)
            findings.append(filled)
    return findings


def _silent(limit: float) -> Finding:
    return Finding(
        state=State.FAILED,
        detail=f"did not answer within {limit:g} s",
        advice="a file system or a service that it needs may hang",
    )


def version_tuple(text: str) -> tuple[int, ...]:
    """Return the numbers that a version begins with: ``22.05.8`` and ``22.5.8-1`` alike."""
    numbers: list[int] = []
    for part in text.lstrip("v").split("."):
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if not digits:
            break
        numbers.append(int(digits))
        if digits != part:
            break
    return tuple(numbers)
