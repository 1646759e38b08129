"""The program behind the ``qsub`` in ``commands``, first on a workflow manager's PATH."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from whesl import become
from whesl.files import file_retry
from whesl.managers import resource
from whesl.managers.resource.granted_spares_and_requeue import inside
from whesl.managers.resource.pbs.command import PbsCommands, failure
from whesl.managers.workflow import script_wrapping
from whesl.managers.workflow.submission import qsub_rewriting, submit_with_fallbacks
from whesl.managers.workflow.submission.jobspec import without
from whesl.managers.workflow.submission.qsub_rewriting import Call, Rewritten
from whesl.model.errors import UsageError, WheslError

_TIMEOUT = 120.0  # seconds for one call of the real qsub


def main(directory: str, arguments: Sequence[str]) -> int:
    """Run as ``qsub``: submit a wrapped script once; pass any other call to the real qsub.

    Args:
        directory: the directory of WHESL's qsub, which the search for the real qsub skips.
        arguments: the caller's arguments of ``qsub``.
    """
    path = without(os.environ.get("PATH", os.defpath), (directory,))
    environment = {**os.environ, "PATH": path}
    real = shutil.which("qsub", path=path)
    if real is None:
        print("qsub: command not found (looked on PATH behind WHESL's own)", file=sys.stderr)  # noqa: T201 - it stands in for a command
        return 127
    try:
        found = _wrapped(arguments)
        if found is None:
            become(real, ["qsub", *arguments], environment)
        # The scheduler's adapter has to start the real commands.
        os.environ["PATH"] = path
        print(_submit(*found, environment))  # noqa: T201 - as above
    except WheslError as error:
        print(f"qsub: {str(error).removeprefix('qsub: ')}", file=sys.stderr)  # noqa: T201 - as above
        return 1
    return 0


def _wrapped(arguments: Sequence[str]) -> tuple[Call, str, script_wrapping.WrappedScript] | None:
    """Return a call, its script's text and the options in it; None for a call without a wrapped script.

    Raises UsageError for a damaged wrapped script.
    """
    try:
        call = qsub_rewriting.parse_call(arguments)
    except UsageError:
        return None  # the real qsub reports the error
    if call.commanded:
        return None
    try:
        text = os.fsdecode(file_retry.retried(Path(call.script).read_bytes))
    except OSError:
        return None
    wrapped = script_wrapping.read_wrapped(text, call.script)
    return None if wrapped is None or qsub_rewriting.interactive(call, text) else (call, text, wrapped)


def _submit(
    call: Call, text: str, wrapped: script_wrapping.WrappedScript, environment: dict[str, str]
) -> str:
    commands = PbsCommands(environment, timeout=_TIMEOUT)
    scheduler = resource.scheduler("pbs")

    def call_with(wish: Rewritten) -> str:
        told = inside(wish.spares, wish.requeue, wrapped.workflow, wrapped.step)
        if qsub_rewriting.waits(call, text):
            return _first_line(["qsub", *wish.words], {**commands.environ, **told})
        return commands.run("qsub", *wish.words, environ=told).strip()

    return submit_with_fallbacks.submit(
        wrapped,
        environment,
        scheduler,
        rewrite=lambda token, spares, _: qsub_rewriting.rewrite(call, text, wrapped, token, spares=spares),
        impossible=lambda wish: submit_with_fallbacks.too_many(scheduler, wish.nodes),
        call=call_with,
        excludes_none="PBS can only be told which to take",
    )


def _first_line(words: Sequence[str], environment: dict[str, str]) -> str:
    """Run a qsub that waits for its job's end until it tells the job's id; return that.

    Nobody reads what a task's qsub returns at the end. An interrupted qsub deletes its job, a killed one does
    not. Raises the errors of ``PbsCommands.run``.
    """
    pipe = subprocess.PIPE
    with subprocess.Popen(words, env=environment, stdout=pipe, stderr=pipe, text=True) as qsub:
        assert qsub.stdout and qsub.stderr
        if job := qsub.stdout.readline().strip():
            qsub.kill()
            return job
        errors = qsub.stderr.read()
    raise failure("qsub", qsub.returncode, errors)
