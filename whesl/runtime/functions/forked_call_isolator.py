"""The keeper of one call: a fork of the kept isolator, which has loaded all modules that an isolator needs.

Like ``whesl exec`` (``runtime.isolator.launch.full_start``), the keeper records the task, starts the first
attempt and an isolator that waits until it is needed, supervises both, and reports the call's end. The task
runs on this host only, also inside a job of several nodes.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import msgspec

from whesl.files import decode_errors, file_retry
from whesl.language.path_expansion import expanded
from whesl.language.rules_file import load_rules
from whesl.language.spec import Spec
from whesl.managers.resource.single_host import HostAllocation
from whesl.model import home as places
from whesl.model.digest import hexdigest
from whesl.model.errors import WheslError
from whesl.model.outcomes import FUNCTION_RAISED
from whesl.runtime.functions import fork_server, function_process, rules
from whesl.runtime.isolator import __main__ as isolator
from whesl.runtime.isolator.launch import (
    first_attempt,
    isolator_keeper,
    isolator_start,
    setup_json,
    short_task_without_isolator,
    signal_delivery,
)
from whesl.runtime.isolator.launch.full_start import setup_of
from whesl.runtime.isolator.task import taskdir
from whesl.runtime.isolator.task.taskdir import Job, Result, TaskDir
from whesl.runtime.journal.records.isolator_records import AnyRecord
from whesl.runtime.locking import takeover_lock
from whesl.runtime.wire.keys import home
from whesl.runtime.wire.private_directory import make_private

WORKFLOW = "functions"
_LOADS = 10.0  # seconds without an answer after which the template's import counts as hanging
# Variables that differ between calls and that no library reads when it loads; one is pytest's.
_OWN = ("WHESL_", "PWD", "PYTEST_CURRENT_TEST")


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """A caller's request for a call.

    ``directory`` is the call's directory, in which the caller has written the function and its arguments.
    ``specification`` are the rules of the function's options, ``rules`` are further files. ``path`` is the
    caller's search path for modules.
    """

    directory: str
    name: str
    instance: str
    workdir: str
    environment: dict[str, str]
    path: list[str]
    specification: str = ""
    rules: tuple[str, ...] = ()
    observe: bool = False


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """How a call ended: ``attempt`` is the last attempt; ``refused`` says why the call was not begun."""

    code: int = 0
    attempt: int = 0
    state: str = ""
    reason: str = ""
    refused: str = ""


class Template(NamedTuple):
    """The process that functions' processes are forked from: socket, process id, environment at its start."""

    asked: socket.socket
    pid: int
    environment: Mapping[str, str]
    imports: bool


def prepare() -> None:
    """Make msgspec's decoders once before forks, since msgspec inspects a record's types at first use."""
    for kind in (Request, Answer, Job, Result, AnyRecord):
        msgspec.json.Decoder(kind)


def main(link: socket.socket, streams: Sequence[int], forks: Template | None) -> NoReturn:
    """Read a request, look after the call, answer, and end this process.

    Args:
        link: the socket to the caller.
        streams: the caller's standard output and standard error.
        forks: the template; None without one.
    """
    try:
        signal_delivery.hold_signals()
        for number, descriptor in enumerate(streams, 1):
            os.dup2(descriptor, number)
            os.close(descriptor)
        answer = _answer(msgspec.convert(fork_server.received(link), Request), forks)
        with contextlib.suppress(OSError):  # the caller is gone
            link.sendall(msgspec.json.encode(answer) + b"\n")
    finally:
        os._exit(0)


def _answer(request: Request, forks: Template | None) -> Answer:
    try:
        os.environ.clear()
        os.environ.update(request.environment | {rules.DIRECTORY: request.directory})
        os.chdir(request.workdir)
        directory = TaskDir(Path(request.directory))
        again = file_retry.exists(directory.job_file)
        told = _attached(directory) if again else _begun(request, directory, forks)
    except WheslError as error:
        return Answer(refused=str(error))
    except OSError as error:
        return Answer(refused=f"the call could not be begun: {file_retry.told(error)}")
    code = isolator_keeper.Keeper(**told).run() if told is not None else 0
    result = decode_errors.load(directory.result_file, Result)
    attempt = directory.newest_attempt()
    if code == 0 and forks is not None and forks.imports:
        _let_import(forks, directory.attempt(attempt) / function_process.IMPORTED)
    if result is None:
        return Answer(code=code, attempt=attempt)
    code = code if told is not None else result.code
    return Answer(code=code, attempt=attempt, state=result.state.value, reason=result.reason)


def _begun(request: Request, directory: TaskDir, forks: Template | None) -> dict[str, Any]:
    """Start the call's first attempt and its isolator, and return the keeper's arguments."""
    here = home()
    asked = setup_json.Request(
        command=(sys.executable, "-m", "whesl.runtime.functions.function_process", request.directory),
        workflow=WORKFLOW,
        step=request.name,
        instance=request.instance,
        task_dir=request.directory,
        observe=request.observe,
        no_coordinator=True,
        quiet=True,
        summary=False,
    )
    file_retry.replace(directory.path / function_process.PLACE, json.dumps(request.path).encode())
    allocation = HostAllocation(os.environ)
    setup = setup_of(asked, _spec(request, here), allocation.describe(), here)
    described, _ = setup_json.job(asked, msgspec.to_builtins(setup), _streams(), request.directory)
    job = msgspec.convert(described, Job)
    first = first_attempt.beginning(job, directory)
    job = msgspec.structs.replace(job, first=first, raised=FUNCTION_RAISED)
    lock = directory.lock(setup)
    file_retry.replace(directory.job_file, msgspec.json.encode(job))
    gate = os.pipe()
    pid = isolator_start.start_isolator(sys.executable, request.directory, lock, gate, isolator.main)
    with contextlib.suppress(OSError):  # on an error the isolator writes its own entry
        takeover_lock.sign(lock, taskdir.holder_of(setup, pid))
    runner = first_attempt.begin(job, directory, allocation, Spawn(forks, request))
    waits = short_task_without_isolator.gate(gate, msgspec.to_builtins(job), started=bool(runner))
    return {"gate": waits, "child": True, "runner": runner, **_told(directory, job, pid)}


def _attached(directory: TaskDir) -> dict[str, Any] | None:
    """Return the arguments of a new keeper, since the first was killed; None if the call has ended."""
    job, owner = decode_errors.load(directory.job_file, Job), directory.owner()
    if file_retry.exists(directory.result_file):
        return None
    if job is None or owner is None:
        raise WheslError(f"what looked after the call was killed: see {directory.path}")
    return {"child": False, "runner": 0, **_told(directory, job, owner.pid)}


def _told(directory: TaskDir, job: Job, isolator_pid: int) -> dict[str, Any]:
    """Return the arguments of every keeper of a call."""
    return {
        "task_dir": str(directory.path),
        "python": sys.executable,
        "claim": job.setup.claim,
        "isolator": isolator_pid,
        "copy": ["stdout"] if job.joined else ["stdout", "stderr"],
        "summary": "",
        "quiet": True,
    }


def _spec(request: Request, here: Path) -> Spec | None:
    """Return the rules of the call. Raises UsageError."""
    files = list(request.rules)
    if request.specification:
        content = request.specification.encode()
        folder = here / WORKFLOW
        make_private(str(folder))
        file = folder / f"{request.name}-{hexdigest(content, 8)}.esl"
        if not file_retry.exists(file):
            file_retry.replace(file, content)
        files.insert(0, str(file))
    spec = load_rules(files, places.rules_cache(here), any_job=False)
    return None if spec is None else expanded(spec, os.environ)[0]


def _streams() -> dict[str, Any]:
    """Return the settings of the output: the keeper copies files of the attempts to the caller's streams."""
    return {"joined": setup_json.streams_are_one(), "stdout": {"path": ""}, "stderr": {"path": ""}}


class Spawn:
    """Starts the runner of a first attempt as a fork of the template, or else as a new interpreter.

    Args:
        forks: the template.
        request: the call.
    """

    def __init__(self, forks: Template | None, request: Request) -> None:
        self._forks = forks if forks is not None and _same(forks.environment, request.environment) else None
        self._directory = request.directory
        self.pid = 0

    def __call__(self, words: Sequence[str], **given: Any) -> Any:
        """Start the runner; called like ``subprocess.Popen``, and returns an object with a ``pid``."""
        if self._forks is not None:
            with contextlib.suppress(OSError, ValueError):
                self.pid = self._forked(self._forks, words, given)
                return self
        return subprocess.Popen(words, **given)

    def _forked(self, forks: Template, words: Sequence[str], given: Mapping[str, Any]) -> int:
        _, _, _, _, mark, status, *_ = words
        ours, theirs = socket.socketpair()
        with ours:
            with theirs:
                streams = [given[name] for name in ("stdin", "stdout", "stderr")]
                socket.send_fds(forks.asked, [fork_server.START], [theirs.fileno(), *streams])
            begin = {
                "mark": mark,
                "status": status,
                "workdir": given["cwd"],
                "environment": dict(given["env"]),
                "call": self._directory,
            }
            ours.sendall(json.dumps(begin).encode())
            ours.shutdown(socket.SHUT_WR)
            if not select.select([ours], [], [], _LOADS)[0]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(forks.pid, signal.SIGKILL)  # the template's import hangs, and would at each call
                raise TimeoutError
            return int(ours.recv(32))  # an empty answer: the template has ended and started no process


def _same(one: Mapping[str, str], other: Mapping[str, str]) -> bool:
    """Whether two environments agree in the variables that libraries read when they load."""
    first, second = (
        {name: value for name, value in each.items() if not name.startswith(_OWN)} for each in (one, other)
    )
    return first == second


def _let_import(forks: Template, file: Path) -> None:
    """Let the template import the modules that a successful call has imported."""
    with contextlib.suppress(OSError):
        descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
        try:
            socket.send_fds(forks.asked, [fork_server.IMPORT], [descriptor])
        finally:
            os.close(descriptor)
