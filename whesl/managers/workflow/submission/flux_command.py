"""The program behind ``<WHESL_HOME>/workflows/<workflow>/bin/flux``: submits a wrapped script once.

The real ``flux batch``, ``flux submit`` and ``flux run`` print their jobspec with ``--dry-run``, so that Flux
itself reads options and directives (RFC 36). ``flux job submit``, which WHESL's Python package calls, gets a
jobspec. The program changes and submits the jobspec. The real flux runs all other commands.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from whesl import become
from whesl.files.decode_errors import UNDECODABLE
from whesl.managers import resource
from whesl.managers.resource.command_call import captured
from whesl.managers.workflow import script_wrapping
from whesl.managers.workflow.submission import flux_directives, jobspec, submit_with_fallbacks
from whesl.managers.workflow.submission.jobspec import Jobspec
from whesl.model.errors import CouldNotObserveError, RefusedError, WheslError

_TIMEOUT = 120.0  # seconds for one command of the real flux
_COMMANDS = ("batch", "submit", "run")
# Options of calls that submit many jobs, no job, or a command instead of a script: never a wrapped task.
_BULK = ("--cc", "--bcc", "--dry-run", "--wrap")
_NAMED_URGENCY = {"default": "16", "hold": "0", "expedite": "31"}
# Messages of libflux and its commands when the broker is missing, or has gone away (strerror(3)).
_UNCLEAR = re.compile(
    r"unable to connect|flux_open|connection (?:refused|reset)|no route to host|broken pipe|timed out"
    r"|function not implemented|lost connection",
    re.IGNORECASE,
)
# Python's last line when a command of Flux cannot be imported.
_IMPORT = re.compile(r"^(ImportError|ModuleNotFoundError)\b", re.MULTILINE)


class _Call(msgspec.Struct, frozen=True, kw_only=True):
    """A submission: the jobspec, the options outside it, and the flux command to run on the submitted job."""

    jobspec: Jobspec
    urgency: str = ""
    flags: tuple[str, ...] = ()
    follow: tuple[str, ...] = ()


def main(directory: str, real: str, arguments: Sequence[str]) -> int:
    """Run as ``flux``: submit a wrapped script once; pass any other call to the real flux.

    Args:
        directory: the directory of the workflow's commands, which is removed from the job's PATH.
        real: the path of the real flux.
        arguments: the caller's arguments of ``flux``.
    """
    hidden = (directory, str(python_directory(Path(directory))))
    # From here on, this process and the adapters find the real commands and bindings.
    for name in ("PATH", "PYTHONPATH"):
        if name in os.environ:
            os.environ[name] = jobspec.without(os.environ[name], hidden)
    call, text = None, ""
    try:
        if tuple(arguments[:2]) == ("job", "submit"):
            call, text = _given(arguments[2:])
        elif arguments and arguments[0] in _COMMANDS and _concerns_us(arguments[1:]):
            call = _asked(real, arguments)
        found = jobspec.wrapped_script(call.jobspec) if call else None
    except WheslError as error:
        return _fail(error)
    if call is None or found is None:
        if text:
            return subprocess.run([real, *arguments], input=text, text=True, check=False).returncode
        become(real, ["flux", *arguments])
    try:
        job = submit(real, call.jobspec, found[0], hidden, call.urgency, call.flags)
    except WheslError as error:
        return _fail(error)
    if call.follow:
        become(real, ["flux", *call.follow, job])
    print(job, flush=True)  # noqa: T201 - it stands in for a command
    return 0


def python_directory(commands: Path) -> Path:
    """Return the directory of WHESL's Python package ``flux``, beside the directory of the commands."""
    return commands.parent / "python"


def submit(
    real: str,
    wanted: Jobspec,
    wrapped: script_wrapping.WrappedScript,
    hidden: Sequence[str],
    urgency: str = "",
    flags: Sequence[str] = (),
) -> str:
    """Submit a wrapped script's jobspec once and return the job's id.

    Args:
        real: the path of the real flux.
        wanted: the jobspec.
        wrapped: the options in the wrapped script.
        hidden: WHESL's directories, which are removed from the job's PATH and PYTHONPATH.
        urgency: the job's urgency, '' for the default.
        flags: the job's flags.

    Raises WheslError.
    """
    options = [f"--urgency={urgency}"] if urgency else []
    if flags:
        options.append(f"--flags={','.join(flags)}")
    return submit_with_fallbacks.submit(
        wrapped,
        os.environ,
        resource.scheduler("flux"),
        rewrite=lambda token, spares, avoided: jobspec.rewrite(
            wanted, wrapped, token, spares=spares, avoid=avoided, hidden=hidden
        ),
        impossible=lambda wish: impossible(real, wish.jobspec),
        call=lambda wish: _submit(real, wish.jobspec, options),
    )


def impossible(real: str, spec: Jobspec) -> str:
    """Return the reason why the Flux instance could never run a job, '' when it could or gives no answer.

    Args:
        real: the path of the real flux.
        spec: the job's jobspec.
    """
    try:
        result = _flux(real, ["job-validator", "--jobspec-only", "--plugins=feasibility"], _encode(spec))
        said = msgspec.json.decode(result.stdout.splitlines()[-1] if result.stdout else "{}")
    except (subprocess.TimeoutExpired, *UNDECODABLE):
        return ""
    if result.returncode == 0 or not isinstance(said, dict) or not said.get("errnum"):
        return ""
    return str(said.get("errstr") or "")


def options_outside(words: Sequence[str], script_text: str) -> tuple[str, tuple[str, ...]]:
    """Return the urgency and the flags of a call, which a jobspec does not hold.

    Args:
        words: the call's options, which override the script's directives.
        script_text: the script's text.
    """
    found = flux_directives.parse(script_text)
    flux_directives.take(list(words), found)
    urgency = found.get("urgency") or ""
    flags = (found.get("flags") or "").split(",")
    return _NAMED_URGENCY.get(urgency, urgency), tuple(flag for flag in flags if flag)


def _concerns_us(words: Sequence[str]) -> bool:
    if any(word.partition("=")[0] in _BULK for word in words):
        return False
    return any(
        script_wrapping.is_wrapped(jobspec.read_file(word)) for word in words if not word.startswith("-")
    )


def _asked(real: str, arguments: Sequence[str]) -> _Call:
    """Return the submission of a ``flux batch|submit|run``. Raises RefusedError with Flux's own words."""
    command, words = arguments[0], arguments[1:]
    # Words after the script are the script's own arguments, which may look like options.
    script = next(i for i, word in enumerate(words) if script_wrapping.is_wrapped(jobspec.read_file(word)))
    own = [word for word in words[:script] if word not in ("--watch", "--wait")]
    try:
        result = _flux(real, [command, "--dry-run", *own, *words[script:]])
    except subprocess.TimeoutExpired:
        raise CouldNotObserveError(f"flux {command} did not answer within {_TIMEOUT:g} s") from None
    if result.returncode != 0:
        raise _failure(f"flux {command}", result)
    sys.stderr.write(result.stderr)
    text = jobspec.read_file(words[script]) if command == "batch" else ""
    urgency, flags = options_outside(own, text)
    follow: tuple[str, ...] = ()
    if command == "run" or "--watch" in words[:script]:
        follow = ("job", "attach")
    elif "--wait" in words[:script]:
        follow = ("job", "status")
    return _Call(jobspec=_decode(result.stdout), urgency=urgency, flags=flags, follow=follow)


def _given(words: Sequence[str]) -> tuple[_Call, str]:
    """Return the submission of a ``flux job submit``, and the jobspec's text if it came by standard input."""
    files = [word for word in words if not word.startswith("-")]
    text = "" if files and files[-1] != "-" else sys.stdin.read()
    source = text or jobspec.read_file(files[-1])
    urgency, flags = options_outside(words, "")
    try:
        return _Call(jobspec=_decode(source), urgency=urgency, flags=flags), text
    except RefusedError:
        return _Call(jobspec={}), text  # the real flux reports the error


def _submit(real: str, spec: Jobspec, options: Sequence[str]) -> str:
    try:
        result = _flux(real, ["job", "submit", *options], _encode(spec))
    except subprocess.TimeoutExpired:
        raise CouldNotObserveError(f"flux job submit did not answer within {_TIMEOUT:g} s") from None
    if result.returncode != 0:
        raise _failure("flux job submit", result)
    sys.stderr.write(result.stderr)
    # The id in ASCII, as in all records of WHESL; Flux accepts both forms.
    return result.stdout.strip().replace("\N{LATIN SMALL LETTER F WITH HOOK}", "f")


def _failure(what: str, result: subprocess.CompletedProcess[str]) -> WheslError:
    said = result.stderr.strip() or result.stdout.strip() or f"status {result.returncode}"
    if _IMPORT.search(said):
        last = said.splitlines()[-1]
        return RefusedError(
            f"{what} is written in Python, and Flux's bindings do not import: {last}", hint="see whesl doctor"
        )
    message = f"{what}: {said}"
    # A command that was killed by a signal may have submitted the job before.
    if result.returncode < 0 or _UNCLEAR.search(said):
        return CouldNotObserveError(message)
    return RefusedError(message)


def _flux(real: str, words: Sequence[str], text: str = "") -> subprocess.CompletedProcess[str]:
    return captured(["flux", *words], None, _TIMEOUT, text=text, executable=real)


def _encode(spec: Mapping[str, object]) -> str:
    return msgspec.json.encode(spec).decode()


def _decode(text: str) -> Jobspec:
    try:
        return msgspec.json.decode(text, type=dict)
    except UNDECODABLE as error:
        raise RefusedError(f"flux: the jobspec cannot be read: {error}") from None


def _fail(error: WheslError) -> int:
    print(f"flux: ERROR: {error}", file=sys.stderr)  # noqa: T201 - it stands in for a command
    return 1
