"""Findings of probes, commands with a time limit, and the parallel run of all probes."""

from __future__ import annotations

import contextlib
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from enum import Enum

import msgspec

from whesl.managers.resource import command_call

COMMAND_LIMIT = 2.0
# Seconds for a probe's work beside its commands, since a dead file system never answers.
PROBE_LIMIT = 3.0
_OUTPUT_LIMIT = 256 * 1024


class State(str, Enum):
    """The state of an examined thing.

    ``warn``: it works, with limits. ``missing``: it does not exist and is not necessary. ``failed``: it does
    not work, or is necessary and does not exist.
    """

    OK = "ok"
    WARN = "warn"
    MISSING = "missing"
    FAILED = "failed"


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """The finding on one thing. Without ``group`` and ``name`` it gets those of its probe.

    ``advice`` says what to do, "" for nothing.
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
    """Return a list with one finding.

    Args:
        state: the state.
        detail: the finding in words.
        advice: what to do, "" for nothing.
        version: the version found, "" for none.
        name: the finding's name; "" for the probe's.
    """
    return [Finding(name=name, state=state, version=version, detail=detail, advice=advice)]


Probe = Callable[[], list[Finding]]


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a command. ``status`` is None when the command was ``late`` or could not start."""

    status: int | None
    late: bool = False
    output: str = ""
    error: str = ""

    @property
    def bad(self) -> State:
        """Return the state for a bad result; a late one is a warning, since a busy machine is not broken."""
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
        limit: seconds until the command and its processes are killed, 2 by default.
        environ: the command's environment; this process's by default.
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
        command_call.send_group(process.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=0.5)
        return Answer(status=None, late=True, error=f"{command[0]} did not answer within {limit:g} s")
    return Answer(status=process.returncode, output=_text(output), error=_text(error_output))


def last_word(answer: Answer | None) -> str:
    """Return the last word that a command prints, often its version; "" where the command fails."""
    words = answer.output.split() if answer is not None and answer.status == 0 else []
    return words[-1] if words else ""


def _text(data: bytes) -> str:
    return data[:_OUTPUT_LIMIT].decode("utf-8", "replace")


def examine(
    probes: Sequence[tuple[str, str, Probe]], limit: float = PROBE_LIMIT + COMMAND_LIMIT
) -> list[Finding]:
    """Run probes in parallel and return their findings in the probes' order.

    Args:
        probes: triples of group, name and probe; findings without a group or name get these.
        limit: seconds for all probes together.
    """
    results: list[list[Finding] | None] = [None] * len(probes)

    def run(index: int, probe: Probe) -> None:
        try:
            results[index] = probe()
        except Exception as error:  # an error of one probe must not hide the findings of others
            detail = f"could not be examined: {type(error).__name__}: {error}"
            results[index] = [Finding(state=State.FAILED, detail=detail)]

    # Daemon threads: a thread that hangs in a dead file system must not block the end of this process.
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
    """Return the leading numbers of a version; ``22.05.8`` and ``22.5.8-1`` give the same."""
    numbers: list[int] = []
    for part in text.lstrip("v").split("."):
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if not digits:
            break
        numbers.append(int(digits))
        if digits != part:
            break
    return tuple(numbers)
