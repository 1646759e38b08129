"""The program behind the ``sbatch`` in ``commands``, first on a workflow manager's PATH."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from whesl import become
from whesl.files import file_retry
from whesl.managers import resource
from whesl.managers.resource import manager_table, wrapped_script
from whesl.managers.resource.granted_spares_and_requeue import ASKED_TASKS, inside
from whesl.managers.resource.slurm.command import failure
from whesl.managers.resource.slurm.slurm_command_output import comment_for
from whesl.managers.workflow import script_wrapping
from whesl.managers.workflow.submission import (
    any_script,
    exactly_once_submission,
    file_in_place,
    submit_with_fallbacks,
    unwrapped_jobs,
)
from whesl.managers.workflow.submission.jobspec import without
from whesl.managers.workflow.submission.sbatch_options import Call, parse_call, parse_header
from whesl.managers.workflow.submission.sbatch_rewriting import Rewritten, original_comment, rewrite
from whesl.model import home as places
from whesl.model.errors import CouldNotObserveError, RefusedError, UsageError, WheslError

# Seconds for one call of the real sbatch; more than Slurm's own timeouts (MessageTimeout, with repetitions).
_TIMEOUT = 120.0


def main(directory: str, arguments: Sequence[str]) -> int:
    """Run as ``sbatch``: submit a wrapped script once; pass any other call to the real sbatch.

    Args:
        directory: the directory of WHESL's sbatch, which the search for the real sbatch skips.
        arguments: the caller's arguments of ``sbatch``.
    """
    path = without(os.environ.get("PATH", os.defpath), (directory,))
    environment = {**os.environ, "PATH": path}
    real = shutil.which("sbatch", path=path)
    if real is None:
        print("sbatch: command not found (looked on PATH behind WHESL's own)", file=sys.stderr)  # noqa: T201 - it stands in for a command
        return 127
    try:
        call, text, wrapped = read(arguments)
        how = any_script.front(environment)
    except UsageError as error:
        print(f"sbatch: error: {error}", file=sys.stderr)  # noqa: T201 - as above
        return 1
    commanded = call.last("wrap") is not None
    tested = "test-only" in dict((*call.options, *parse_header(text)))
    # A script on standard input can be read once only.
    needs = unwrapped_jobs.wanted(environment) if call.script or commanded else None
    if tested or (wrapped is not None and commanded) or (wrapped is None and not needs and not how):
        become(real, ["sbatch", *arguments], environment)
    # The scheduler's adapters have to start the real commands.
    os.environ["PATH"] = path
    try:
        if wrapped is not None:
            job = _submit(real, call, text, wrapped, environment)
            said = f"{job}\n" if call.last("parsable") is not None else f"Submitted batch job {job}\n"
        elif needs is not None:
            said = _submit_unwrapped(real, environment, call, text, needs, environment.update)
        else:
            assert how is not None
            with tempfile.TemporaryDirectory() as copies:
                made = any_script.wrapped(call, text, how, environment, Path(copies))
                said = _submit_unwrapped(real, environment, *made)
    except WheslError as error:
        # Slurm's own errors begin with the command's name already.
        words = str(error).removeprefix("sbatch: ")
        print(f"sbatch: error: {words}", file=sys.stderr)  # noqa: T201 - as above
        return 1
    sys.stdout.write(said)
    return 0


def read(arguments: Sequence[str]) -> tuple[Call, str, script_wrapping.WrappedScript | None]:
    """Return a call, its script's text, and the options in a wrapped script (None for any other script).

    An unknown option may take the next word as its value: the reading with a wrapped script counts. Raises
    UsageError for a damaged wrapped script.
    """
    for valued in (True, False):
        call = parse_call(arguments, valued=valued)
        text, wrapped = "", None
        with contextlib.suppress(OSError):
            text = os.fsdecode(file_retry.retried(Path(call.script).read_bytes)) if call.script else ""
            wrapped = script_wrapping.read_wrapped(text, call.script) if text else None
        if wrapped is not None or not call.guessed:
            break
    return call, text, wrapped


def _submit(
    real: str, call: Call, text: str, wrapped: script_wrapping.WrappedScript, environment: dict[str, str]
) -> str:
    name = environment.get("WHESL_RJMS") or manager_table.behind("sbatch", environment)
    remark = original_comment(call, text)

    def call_with(wish: Rewritten) -> str:
        told = inside(wish.spares, wish.requeue, wrapped.workflow, wrapped.step, wish.nodes)
        reply = _reply(real, wish.words, {**environment, **told}, call.script, wrapped)
        return exactly_once_submission.job_id(reply)

    return submit_with_fallbacks.submit(
        wrapped,
        environment,
        resource.scheduler(name),
        rewrite=lambda token, spares, avoided: rewrite(
            call,
            text,
            wrapped,
            comment_for(token, remark),
            environment,
            spares=spares,
            avoid=avoided,
            exists=os.path.exists,
        ),
        impossible=lambda wish: _impossible(real, wish.words, environment),
        call=call_with,
    )


def _submit_unwrapped(
    real: str,
    environment: dict[str, str],
    call: Call,
    text: str,
    needs: script_wrapping.WrappedScript,
    tell: Callable[[Mapping[str, str]], None],
) -> str:
    """Submit a job whose script names no task, as often as asked; return sbatch's reply."""

    def call_with(wish: Rewritten) -> str:
        told = inside(wish.spares, wish.requeue, needs.workflow, needs.step, wish.nodes)
        tell(told | {wrapped_script.KEEPS: "1" if needs.keeps else "", ASKED_TASKS: wish.tasks})
        return _reply(real, wish.words, environment, call.script, needs)

    def impossible(wish: Rewritten) -> str:
        return _impossible(real, wish.words, environment)

    def rewritten(spares: bool, avoided: tuple[str, ...]) -> Rewritten:
        return rewrite(call, text, needs, "", environment, spares=spares, avoid=avoided)

    home = Path(places.chosen(environment))
    return submit_with_fallbacks.submit_now(
        needs, home, rewrite=rewritten, impossible=impossible, call=call_with
    )


def _impossible(real: str, words: Sequence[str], environment: Mapping[str, str]) -> str:
    """Return the reason why the scheduler could never run a job, '' when it could or gives no answer."""
    try:
        result = _sbatch(real, ["--test-only", *words], environment)
    except subprocess.TimeoutExpired:
        return ""
    if result.returncode == 0:
        return ""
    error = failure("sbatch", result.returncode, result.stderr)
    return error.message if isinstance(error, RefusedError) else ""


def _sbatch(
    real: str, words: Sequence[str], environment: Mapping[str, str], before: Callable[[], None] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sbatch", *words],
        executable=real,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=_TIMEOUT,
        check=False,
        preexec_fn=before,
    )


def _in_place(
    real: str,
    words: Sequence[str],
    environment: Mapping[str, str],
    copy: str,
    wrapped: script_wrapping.WrappedScript,
) -> subprocess.CompletedProcess[str]:
    """Run the real sbatch with the copy under the original's path; where that fails, on the copy itself."""
    try:
        return _sbatch(real, words, environment, lambda: file_in_place.put(copy, wrapped.source))
    except subprocess.TimeoutExpired:
        raise
    except subprocess.SubprocessError:  # subprocess's only exception for an error between fork and exec
        print(  # noqa: T201 - it stands in for a command
            f"whesl: {wrapped.task}: this system lets users mount nothing, so the scheduler calls the job's"
            f" command {copy}; a script that looks there for the files beside it finds none",
            file=sys.stderr,
        )
        at = words.index(wrapped.source)
        return _sbatch(real, [*words[:at], copy, *words[at + 1 :]], environment)


def _reply(
    real: str,
    words: Sequence[str],
    environment: Mapping[str, str],
    copy: str,
    wrapped: script_wrapping.WrappedScript,
) -> str:
    """Run the real sbatch and return its reply. Raises the errors of the port's ``submit``."""
    try:
        if wrapped.source:
            result = _in_place(real, words, environment, copy, wrapped)
        else:
            result = _sbatch(real, words, environment)
    except subprocess.TimeoutExpired:
        raise CouldNotObserveError(f"sbatch did not answer within {_TIMEOUT:g} s") from None
    if result.returncode != 0:
        raise failure("sbatch", result.returncode, result.stderr)
    # sbatch's warnings, such as of a default that was used, go to the caller.
    sys.stderr.write(result.stderr)
    return result.stdout
