"""From the options of ``whesl exec`` to the JSON of the isolator's input: ``Setup`` and ``Job``.

Standard library only, since ``fast_start`` uses it before the program runs; ``full_start`` uses it, too.
"""

from __future__ import annotations

import os
import select
import stat
import sys
import time
import zlib
from types import SimpleNamespace

from whesl.files import file_retry, standard_streams
from whesl.files.non_utf8_text import carried, reachable
from whesl.language import shipped_policy
from whesl.managers.resource import cluster_environment, manager_table
from whesl.managers.resource.granted_spares_and_requeue import requeue_said, spares_granted
from whesl.managers.resource.wrapped_script import kept
from whesl.model import home as places
from whesl.model.errors import RefusedError, UsageError
from whesl.runtime.detect import shared_output
from whesl.runtime.isolator.launch import options, runner_start
from whesl.runtime.locking import job_leader_identity, procfs

TYPE_CHECKING = False  # importing typing costs milliseconds
if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import Any

    from whesl.managers.resource import allocation_from_environment
    from whesl.managers.resource.port import AllocationInfo

    Given = AllocationInfo | allocation_from_environment.Given  # the description of an allocation

WITHOUT_WORKFLOW = "exec"
SUMMARY = ".whesl"  # suffix of a summary's name, after the name of the job's output file
_OPEN_STDIN = "/proc/self/fd/0"


class Request(SimpleNamespace):
    """The options of ``whesl exec`` by their keys (``options``). No ``Struct``, whose import takes 30 ms."""

    command: tuple[str, ...]
    rules: tuple[str, ...]
    observe: bool
    strict: bool
    workflow: str
    step: str
    instance: str
    workspace: str
    name: str
    nodes: str
    spares: int
    own_node: bool
    checkpoints: Path | str | None
    task_dir: Path | str | None
    no_coordinator: bool
    script: str | None
    script_word: int
    heartbeat: float
    heartbeat_limit: float
    coordinator_wait: float
    term_grace: float
    summary: bool | None
    json_summary: Path | str | None
    inner: str
    quiet: bool

    def __init__(self, **given: Any) -> None:
        super().__init__(**options.DEFAULTS | given)


def absolute(path: str) -> str:
    """Return the absolute path as by ``pathlib``, in a form that records can carry."""
    return reachable(_absolute(path))


def _absolute(path: str) -> str:
    """Return the absolute path, with ``..`` kept, since it may follow a symbolic link."""
    whole = path if path.startswith("/") else f"{os.getcwd()}/{path}"  # noqa: PTH109
    return "/" + "/".join(part for part in whole.split("/") if part not in ("", "."))


def setup(request: Request, spec: dict[str, Any] | None, given: Given, here: str) -> dict[str, Any]:
    """Return the JSON of a ``Setup``.

    Args:
        request: the user's options.
        spec: the JSON of the rules.
        given: the description of the allocation.
        here: the WHESL home.

    Raises UsageError.
    """
    if "/" in request.workflow:
        raise UsageError(
            f"--workflow {request.workflow}: a workflow's name has no slash",
            hint="tasks are called WORKFLOW/TASK; --step and --instance may have some",
        )
    granted = spares_granted(os.environ, request.workflow, request.step)
    # The resource manager may have granted another number of spares, and a later run of the job fewer.
    spares, most = (request.spares, 0) if granted is None else granted
    sizes = (most - spares, most) if most else (0, 0)
    spares = max(spares - max(most - len(given.nodes), 0), 0)
    if given.components and not request.workflow and (request.nodes or not request.own_node):
        raise UsageError(
            "this is a heterogeneous job: a task uses nodes of all its components",
            hint="leave out --nodes and --no-own-node; --spares counts in each component",
        )
    if given.components:
        request = Request(**{**vars(request), "nodes": "", "own_node": True})
        spares *= len(given.components)
    workflow = request.workflow or WITHOUT_WORKFLOW
    step = request.step or request.name or _step_name(request)
    name = f"{step}_{request.instance}" if request.instance else step
    coordinator = not request.no_coordinator and (
        bool(request.workflow) or file_retry.exists(f"{here}/coordinator/endpoint.json")
    )
    return {
        "task": {
            "id": f"{workflow}/{name}",
            "step": step,
            "instance": request.instance,
            "workspace": request.workspace or reachable(os.getcwd()),  # noqa: PTH109
            "nodes": len(given.nodes),
            "spares": spares,
        },
        "workflow": workflow,
        "spec": spec,
        "observe": request.observe or shipped_policy.observed(request.rules, os.environ),
        "coordinator": coordinator,
        "claim": _claim(request, given),
        "rjms": given.rjms,
        "job_id": given.job_id,
        "leader": job_leader_identity.leader(manager_table.jobs_of(os.environ)) if given.job_id else "",
        "nodes": given.nodes,
        "active": _active(request, given, spares),
        "own_node": given.batch_host,
        "use_own_node": request.own_node,
        "restarts": given.restart_count,
        "requeue": requeue_said(os.environ, request.workflow, request.step),
        "kept": kept(os.environ),
        "sizes": sizes,
        "components": given.components,
        "cluster": cluster_environment.described(given.rjms, os.environ),
        "salt": os.urandom(16).hex(),
        # Earlier runs are found by the task's name; without a name, only the number of requeues is known.
        "earlier": 0 if request.step or request.name or request.task_dir else given.restart_count,
        "coordinator_wait": request.coordinator_wait,
        "term_grace": request.term_grace,
    }


def _step_name(request: Request) -> str:
    program = "script" if request.script == "-" else request.script or request.command[0]
    name = program.rstrip("/").rpartition("/")[2].encode(errors="replace").decode()
    if name in ("", ".", ".."):
        name = "program"
    # Random, since hosts, or containers of one host, may use the same process number in the same second.
    return f"{name}-{time.strftime('%Y%m%d-%H%M%S')}-{os.urandom(5).hex()}"


def _active(request: Request, given: Given, spares: int) -> int | None:
    wanted = request.nodes.strip()
    if wanted:
        if not (wanted.isascii() and wanted.isdigit() and int(wanted) > 0):
            raise UsageError(f"--nodes takes a number of nodes, not {wanted!r}")
        return min(int(wanted), len(given.nodes))
    return max(len(given.nodes) - spares, 1) if spares else None


def _claim(request: Request, given: Given) -> str:
    if not request.workflow:
        return os.urandom(16).hex()
    if given.rjms != manager_table.HOST:
        return f"{given.job_id}.{given.restart_count}"
    parent = os.getppid()
    return f"{given.batch_host}.{parent}.{procfs.started(parent)}"


def task_dir(request: Request, task: str, here: str) -> str:
    """Return a task's directory.

    Args:
        request: the user's options.
        task: the task's id.
        here: the WHESL home.
    """
    if request.task_dir is not None:
        return absolute(os.fspath(request.task_dir))
    return places.task(here, task)


def script_content(name: str) -> bytes:
    """Return a script's whole content; a shell would take a read error for the end of the script.

    Args:
        name: the script's file; ``-`` is standard input.

    Raises UsageError for a script that cannot be read.
    """
    try:
        return sys.stdin.buffer.read() if name == "-" else file_retry.retried(lambda: _content(name))
    except OSError as error:
        raise UsageError(f"the script {name} cannot be read: {error.strerror}") from error


def _content(name: str) -> bytes:
    with open(name, "rb") as file:  # noqa: PTH123
        return file.read()


def checksum(content: bytes) -> int:
    """Return a checksum that distinguishes scripts; 0 for no content."""
    return zlib.crc32(content)


def given_script(directory: str) -> str:
    """Return the path at which a script from standard input is kept.

    Args:
        directory: the task's directory.
    """
    return f"{directory}/script"


def _regular(descriptor: int) -> str:
    """Return the path of an open regular file that can be opened again for writing, else ''."""
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        return ""
    try:
        path = os.readlink(f"/proc/self/fd/{descriptor}")  # noqa: PTH115
    except OSError:
        return ""
    return reachable(path) if _leads_to(path, status) and os.access(path, os.W_OK) else ""


def _leads_to(path: str, status: os.stat_result) -> bool:
    """Whether a path leads to the open file of a status."""
    try:
        return os.path.samestat(os.stat(path), status)  # noqa: PTH116
    except OSError:
        return False


def _stdin() -> tuple[str, int]:
    """Return the regular file on standard input and its offset in bytes, for each attempt to read anew."""
    try:
        status = os.fstat(0)
        if stat.S_ISFIFO(status.st_mode) and _written():
            _keep()
            return _OPEN_STDIN, 0
        if not stat.S_ISREG(status.st_mode):
            return "", 0
        path = os.readlink(_OPEN_STDIN)  # noqa: PTH115
        # Without its name, as a shell's here-document is, the file is read by the open descriptor.
        path = reachable(path) if _leads_to(path, status) else _OPEN_STDIN
        return (path, os.lseek(0, 0, os.SEEK_CUR)) if os.access(path, os.R_OK) else ("", 0)
    except OSError as error:
        raise RefusedError(
            f"standard input cannot be used: {error.strerror}", hint="add </dev/null"
        ) from error


def _written() -> bool:
    """Whether a pipe on standard input has no writer left, as with a shell's here-document."""
    poller = select.poll()
    poller.register(0, select.POLLIN)
    return any(events & select.POLLHUP for _, events in poller.poll(0))


def _keep() -> None:
    """Replace the pipe on standard input by a file in memory, which all child processes inherit."""
    kept = os.memfd_create("stdin")
    while block := os.read(0, 1 << 16):
        os.write(kept, block)
    os.dup2(kept, 0)
    os.close(kept)


def streams_are_one() -> bool:
    """Whether this process's standard output and standard error are one file."""
    first, second = (os.fstat(descriptor) for descriptor in (1, 2))
    return (first.st_dev, first.st_ino) == (second.st_dev, second.st_ino)


def streams() -> dict[str, Any]:
    """Return this process's output and its further descriptors, as in the JSON of a ``Job``.

    A regular file becomes the task's own, unless another task already writes to it.
    """
    joined = streams_are_one()
    found: dict[str, Any] = {"joined": joined, "descriptors": standard_streams.further()}
    for descriptor, name in ((1, "stdout"), (2, "stderr")):
        path = _regular(descriptor)
        if path:
            standard_streams.append_only(descriptor)
        if joined and "stdout" in found:
            found[name] = found["stdout"]
        elif path and not shared_output.take(path, os.environ, element_numbers(os.environ)):
            found[name] = {"path": "", "common": path}
        else:
            found[name] = {"path": path}
    return found


def element_numbers(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the numbers that identify an element of a job array, () where there are no other elements."""
    element = manager_table.told(environ, manager_table.ELEMENT)
    if not element.isdecimal() or manager_table.told(environ, manager_table.ELEMENTS) == "1":
        return ()
    return element, manager_table.told(environ, manager_table.ID)


def passed_on(request: Request, streams: dict[str, Any], setup: dict[str, Any]) -> dict[str, Any]:
    """Return the keeper's fields on output and job: the streams to copy, and the job's script.

    Args:
        request: the user's options.
        streams: as ``streams`` returns them.
        setup: the JSON of the setup.
    """
    copied = ("stdout",) if streams["joined"] else ("stdout", "stderr")
    wanted = request.summary if request.summary is not None else os.isatty(2)
    # Where standard error is a file, the summary goes to a file beside it.
    file = streams["stderr"]["path"] or streams["stderr"].get("common")
    return {
        "copy": [name for name in copied if not streams[name]["path"]],
        "common": [name for name in copied if streams[name].get("common")],
        "summary": (f"{file}{SUMMARY}" if file else "stderr") if wanted and not request.quiet else "",
        "quiet": request.quiet,
        "in_job": bool(setup["job_id"]),
        "batch": _script(setup["leader"]),
    }


def _script(leader: str) -> int:
    told = manager_table.told(os.environ, manager_table.SCRIPT)
    return job_leader_identity.script(leader, told, manager_table.jobs_of(os.environ))


def job(
    request: Request, setup: dict[str, Any], streams: dict[str, Any], directory: str
) -> tuple[dict[str, Any], bytes]:
    """Return the JSON of a ``Job``, and the content of a script from standard input, to be kept at
    ``given_script``.

    Args:
        request: the user's options.
        setup: the JSON of the setup.
        streams: as ``streams`` returns them.
        directory: the task's directory.

    Raises UsageError for a script that cannot be read, RefusedError for unusable standard input.
    """
    command, place, content = tuple(map(carried, request.command)), request.script_word, b""
    if request.script is not None:
        content = script_content(request.script)
        words = runner_start.interpreter(content)
        name = given_script(directory) if request.script == "-" else carried(_absolute(request.script))
        command, place = (*words, name, *command), len(words)
    stdin, offset = ("/dev/null", 0) if request.script == "-" else _stdin()
    return {
        "setup": setup,
        "command": command,
        "script": place,
        "checksum": checksum(content),
        "batch": os.getpid() if request.script_word else _script(setup["leader"]),
        "workdir": reachable(os.getcwd()),  # noqa: PTH109
        "stdin": stdin,
        "stdin_offset": offset,
        **streams,
        "checkpoints": absolute(os.fspath(request.checkpoints)) if request.checkpoints else "",
        "heartbeat": request.heartbeat,
        "heartbeat_limit": request.heartbeat_limit,
        "json_summary": absolute(os.fspath(request.json_summary)) if request.json_summary else "",
        "inner": request.inner,
        "first": None,
    }, content if request.script == "-" else b""
