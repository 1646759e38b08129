"""``whesl run`` for other programs: runs in a process of its own and returns the report as a record."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from threading import Thread

import msgspec

from whesl.model.errors import UsageError, WheslError
from whesl.report.report_records import Report

_USAGE = 2  # the exit status of whesl for a wrong call; nothing was started


class Finished(msgspec.Struct, frozen=True, kw_only=True):
    """A workflow that has ended. ``status`` is its manager's exit status, 0 for success."""

    status: int
    report: Report


def finished(words: Sequence[str], progress: Callable[[str], None]) -> Finished:
    """Run a workflow and wait for its end.

    Args:
        words: options and arguments of ``whesl run``, without ``--json``.
        progress: called with each line of the process's standard error.

    Raises:
        UsageError: the call, the workflow or the rules are wrong; nothing was started.
        WheslError: ``whesl run`` ended without a report.
    """
    said: list[str] = []
    command = [sys.executable, "-m", "whesl", "run", "--json", *words]
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        printed: list[bytes] = []
        reader = Thread(target=lambda out=process.stdout: printed.append(out.read()), daemon=True)
        reader.start()
        for line in process.stderr:
            said.append(line.decode(errors="replace").rstrip("\n"))
            progress(said[-1])
        reader.join()
    try:
        report = msgspec.json.decode(b"".join(printed), type=Report)
    except msgspec.DecodeError:
        text, _, hint = "\n".join(said).removeprefix("whesl: ").partition("\n  hint: ")
        kind = UsageError if process.returncode == _USAGE else WheslError
        said_nothing = f"whesl run ended with status {process.returncode} and said nothing"
        raise kind(text or said_nothing, hint=hint) from None
    return Finished(status=process.returncode, report=report)
