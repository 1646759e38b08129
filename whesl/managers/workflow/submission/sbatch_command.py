"""The program behind the ``sbatch`` in ``commands``, first on a workflow manager's PATH."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

import msgspec

from whesl import become
from whesl.files import file_retry
from whesl.managers import resource
from whesl.managers.resource import manager_table, wrapped_script
from whesl.managers.resource.command_call import captured
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
from whesl.managers.workflow.submission.file_in_place import ScriptInPlace
from whesl.managers.workflow.submission.jobspec import without
from whesl.managers.workflow.submission.sbatch_options import (
    Call,
    asked_of,
    parse_call,
)
from whesl.managers.workflow.submission.sbatch_rewriting import Rewritten, rewrite
from whesl.model import home as places
from whesl.model.errors import CouldNotObserveError, RefusedError, UsageError, WheslError

# Options whose answer is no job.
_ANSWERS = {"help", "usage", "version", "test-only"}
# Seconds for one call of the real sbatch; more than Slurm's own timeouts (MessageTimeout, with repetitions).
_TIMEOUT = 120.0
_BRIEF = 10.0  # seconds for a call that may fail
# What a script has that asks for its job's comment, or sets it.
_OF_COMMENT = re.compile(r"(?i)comment|%k\b")


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
    asked = dict(asked_of(call, text, {})).keys()
    if how and not (call.script or commanded or _ANSWERS & asked):
        with contextlib.suppress(OSError):
            text = _read("")
    # A script on standard input can be read once only.
    needs = unwrapped_jobs.wanted(environment) if call.script or commanded else None
    # Of what is no script the real sbatch tells in its own words.
    front = how and (not call.script if commanded else text.startswith("#!"))
    if _ANSWERS & asked or (commanded if wrapped else not needs and not front):
        become(real, ["sbatch", *arguments], environment)
    # The scheduler's adapters have to start the real commands.
    os.environ["PATH"] = path
    status = 0
    try:
        if wrapped is not None:
            job = _submit(real, call, text, wrapped, environment)
            print(job if call.last("parsable") is not None else f"Submitted batch job {job}")  # noqa: T201 - as above
        elif needs is not None:
            status = _submit_unwrapped(real, environment, None, call, text, needs, environment.update)
        else:
            assert how is not None
            with tempfile.TemporaryDirectory() as copies:
                place = ScriptInPlace(script=call.script, copy=f"{copies}/{Path(call.script).name}")
                made = any_script.wrapped(call, text, how, environment, place)
                status = _submit_unwrapped(real, environment, place, *made)
    except WheslError as error:
        # Slurm's own errors begin with the command's name already.
        words = str(error).removeprefix("sbatch: ")
        print(f"sbatch: error: {words}", file=sys.stderr)  # noqa: T201 - as above
        return 1
    return status


def read(arguments: Sequence[str]) -> tuple[Call, str, script_wrapping.WrappedScript | None]:
    """Return a call, its script's text, and the options in a wrapped script (None for any other script).

    An unknown option may take the next word as its value: the reading with a script counts. Raises
    UsageError for a damaged wrapped script.
    """
    for valued in (True, False):
        call = parse_call(arguments, valued=valued)
        call = msgspec.structs.replace(call, script=_located(call.script, call.last("chdir") or ""))
        text, wrapped = "", None
        with contextlib.suppress(OSError):
            text = _read(call.script) if call.script else ""
            wrapped = script_wrapping.read_wrapped(text, call.script) if text else None
        if text.startswith("#!") or not call.guessed:
            break
    return call, text, wrapped


def _located(script: str, directory: str) -> str:
    """Return a script's path where sbatch looks for it: the job's directory, then PATH (proc_args.c)."""
    own = str(Path(directory).absolute()) if directory else ""
    places = (own, *os.environ.get("PATH", "").split(os.pathsep)) if script[:1] not in "./" else ()
    paths = (os.path.join(place, script) for place in places)  # noqa: PTH118 - the name stays as it is
    return next((path for path in paths if os.access(path, os.R_OK)), script)


def _read(script: str) -> str:
    """Return a script's text; one that comes on a descriptor can be read again. Raises OSError."""
    text = os.fsdecode(file_retry.retried(Path(script or "/dev/stdin").read_bytes))
    if file_in_place.descriptor_of(script) is not None:
        ScriptInPlace(script=script, copy="").put(text)
    return text


def _submit(
    real: str, call: Call, text: str, wrapped: script_wrapping.WrappedScript, environment: dict[str, str]
) -> str:
    name = environment.get("WHESL_RJMS") or manager_table.behind("sbatch", environment)
    asked = dict(asked_of(call, text, environment))
    place = ScriptInPlace(script=wrapped.source, copy=call.script) if wrapped.source else None
    waits = io.StringIO() if "wait" in asked else None

    def call_with(wish: Rewritten) -> str:
        told = inside(wish.spares, wish.requeue, wrapped.workflow, wrapped.step, wish.nodes)
        if "open-mode" not in asked and "--open-mode=append" in wish.words:
            told[script_wrapping.APPENDS] = "1"
        reply = _checked(_reply(real, wish.words, {**environment, **told}, place, wrapped.task, waits))
        # sbatch's warnings, such as of a default that was used, go to the caller.
        sys.stderr.write(reply.stderr)
        return exactly_once_submission.job_id(reply.stdout)

    job = submit_with_fallbacks.submit(
        wrapped,
        environment,
        resource.scheduler(name),
        rewrite=lambda token, spares, avoided: rewrite(
            call,
            text,
            wrapped,
            comment_for(token, asked.get("comment", "")),
            environment,
            spares=spares,
            avoid=avoided,
            exists=os.path.exists,
        ),
        impossible=lambda wish: _impossible(real, wish.words, environment),
        call=call_with,
    )
    if "comment" in asked or _OF_COMMENT.search(text):
        _give_comment(job, asked.get("comment") or "", environment)
    return job


def _give_comment(job: str, comment: str, environment: Mapping[str, str]) -> None:
    """Take the token out of a job's comment: its submission is recorded. The token stays where that fails."""
    command = ("scontrol", "update", f"JobId={job}", f"Comment={comment}")
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        captured(command, environment, _BRIEF)


def _submit_unwrapped(
    real: str,
    environment: dict[str, str],
    place: ScriptInPlace | None,
    call: Call,
    text: str,
    needs: script_wrapping.WrappedScript,
    tell: Callable[[Mapping[str, str]], None],
) -> int:
    """Submit a job whose script names no task, as often as asked; tell and return what sbatch does."""
    reply: subprocess.CompletedProcess[str] | None = None
    waits = sys.stdout if "wait" in dict(asked_of(call, text, environment)) else None

    def call_with(wish: Rewritten) -> str:
        nonlocal reply
        reply = None
        told = inside(wish.spares, wish.requeue, needs.workflow, needs.step, wish.nodes)
        tell(told | {wrapped_script.KEEPS: "1" if needs.keeps else "", ASKED_TASKS: wish.tasks})
        reply = _reply(real, wish.words, environment, place, call.script, waits)
        return _checked(reply).stdout

    try:
        submit_with_fallbacks.submit_now(
            needs,
            Path(places.chosen(environment)),
            rewrite=lambda spares, avoided: rewrite(
                call, text, needs, "", environment, spares=spares, avoid=avoided
            ),
            impossible=lambda wish: _impossible(real, wish.words, environment, place),
            call=call_with,
        )
    except WheslError:
        if reply is None:
            raise
    assert reply is not None
    sys.stderr.write(reply.stderr)
    sys.stdout.write("" if waits else reply.stdout)
    return reply.returncode


def _impossible(
    real: str, words: Sequence[str], environment: Mapping[str, str], place: ScriptInPlace | None = None
) -> str:
    """Return the reason why the scheduler could never run a job, '' when it could or gives no answer."""
    try:
        result = _sbatch(real, ["--test-only", *words], environment, place)
    except (CouldNotObserveError, subprocess.SubprocessError):
        return ""
    error = failure("sbatch", result.returncode, result.stderr) if result.returncode else None
    return error.message if isinstance(error, RefusedError) else ""


def _sbatch(
    real: str,
    words: Sequence[str],
    environment: Mapping[str, str],
    place: ScriptInPlace | None = None,
    waits: TextIO | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run the real sbatch; one that waits for its job's end tells ``waits`` at once what it prints.

    A task's job, whose reply nobody reads, is not waited for: its submission ends with its id.
    """
    given: dict[str, Any] = place.given() if place else {"stdin": subprocess.DEVNULL}
    given |= {"executable": real, "env": dict(environment), "text": True, "errors": "replace"}
    given["preexec_fn"] = file_in_place.with_caller(given.get("preexec_fn"))
    with (
        tempfile.TemporaryFile("w+", errors="replace") as errors,
        subprocess.Popen(["sbatch", *words], stdout=subprocess.PIPE, stderr=errors, **given) as process,
    ):
        said = ""
        if waits is None:
            try:
                said, _ = process.communicate(timeout=_TIMEOUT)
            except subprocess.TimeoutExpired:
                process.kill()
                raise CouldNotObserveError(f"sbatch did not answer within {_TIMEOUT:g} s") from None
        else:
            for line in process.stdout or ():
                said += line
                waits.write(line)
                waits.flush()
                if waits is not sys.stdout and exactly_once_submission.job_id(line):
                    process.terminate()
        status = process.wait()
        errors.seek(0)
        return subprocess.CompletedProcess(words, status, said, errors.read())


def _reply(
    real: str,
    words: Sequence[str],
    environment: Mapping[str, str],
    place: ScriptInPlace | None,
    task: str,
    waits: TextIO | None,
) -> subprocess.CompletedProcess[str]:
    """Run the real sbatch with another text in place of a script's; where that fails, on the copy itself."""
    try:
        return _sbatch(real, words, environment, place, waits)
    except subprocess.SubprocessError:  # subprocess's only exception for an error between fork and exec
        assert place is not None
        print(  # noqa: T201 - it stands in for a command
            f"whesl: {task}: this system lets users mount nothing, so the scheduler calls the job's"
            f" command {place.copy}; a script that looks there for the files beside it finds none",
            file=sys.stderr,
        )
        at = words.index(place.script)
        return _sbatch(real, [*words[:at], place.copy, *words[at + 1 :]], environment, waits=waits)


def _checked(reply: subprocess.CompletedProcess[str]) -> subprocess.CompletedProcess[str]:
    """Return a reply. Raises the errors of the port's ``submit``."""
    # An sbatch that waits has told its job's id, and ends as the job does.
    if reply.returncode != 0 and not exactly_once_submission.job_id(reply.stdout):
        raise failure("sbatch", reply.returncode, reply.stderr)
    return reply
