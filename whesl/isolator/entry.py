"""From ``whesl exec``'s options to a running isolator: identity, streams, rules, attach or start."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from whesl.esl.spec import Spec
from whesl.isolator import first, keeper, launching, processes, taskdir
from whesl.isolator.rulesfile import load_rules
from whesl.isolator.setup import Setup
from whesl.isolator.taskdir import Job, LockedError, Owner, Result, Stream, TaskDir
from whesl.model.errors import RefusedError, UsageError, WheslError
from whesl.model.workflow import Task, requeue_allowed, spares_granted
from whesl.rjms import current_allocation
from whesl.rjms.port import Allocation, AllocationInfo
from whesl.wire.keys import home

WITHOUT_WORKFLOW = "exec"


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """The options of ``whesl exec``, as its command line names them."""

    command: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    observe: bool = False
    workflow: str = ""
    step: str = ""
    instance: str = ""
    workspace: str = ""
    name: str = ""
    nodes: str = ""
    spares: int = 0
    no_own_node: bool = False
    task_dir: Path | None = None
    no_coordinator: bool = False
    script: str | None = None
    heartbeat: float = 0.5
    heartbeat_limit: float = 3.0
    coordinator_wait: float = 120.0
    term_grace: float = 25.0
    summary: bool | None = None
    json_summary: Path | None = None
    inner: str = "auto"
    quiet: bool = False


class AlreadyRunError(WheslError):
    """Another job runs this task now."""

    exit_code = 75


def prepare(request: Request) -> dict[str, Any] | int:
    """Check everything, then start an isolator or find the one that lives.

    Args:
        request: what the user asked for.

    Returns what the keeper is to be told, or the exit status of a task that has ended under the same claim.

    Raises WheslError for wrong rules and options, before anything was started.
    """
    keeper.open_standard_streams()
    request = _with_granted_spares(request)
    here = home()
    spec = load_rules(request.rules, here / "cache", any_job=not (request.step or request.name))
    allocation = current_allocation(os.environ)
    info = allocation.describe()
    if request.inner == "flux":
        from whesl.rjms.flux import inner

        inner.wanted(request.inner, info, os.environ)
    setup = _setup(request, spec, info, here)
    directory = TaskDir(_task_dir(request, setup.task, here))
    directory.make()
    found = _earlier(directory, setup, info)
    if isinstance(found, int):
        return found
    streams = _streams()
    runner = 0
    if isinstance(found, Owner):
        pid, child, claim = found.pid, False, found.claim
    else:
        job = _job(request, found, streams)
        pid, runner = _start(job, directory, allocation, info)
        child, claim = True, found.claim
    wanted = request.summary if request.summary is not None else os.isatty(2)
    # A regular file is the task's own: nothing of ours goes there, not even when it was asked for.
    summary = wanted and not streams.stderr.path
    return {
        "task_dir": str(directory.path),
        "python": sys.executable,
        "claim": claim,
        "isolator": pid,
        "child": child,
        "runner": runner,
        "copy": [name for name, stream in streams.copied],
        "summary": summary and not request.quiet,
    }


def _start(job: Job, directory: TaskDir, allocation: Allocation, info: AllocationInfo) -> tuple[int, int]:
    """Start the isolator, and before it the first attempt where that is possible.

    Returns the process numbers of the isolator and of the attempt's runner (0: the isolator starts it).
    """
    lock = None
    old = taskdir.load(directory.job_file, Job)
    if old is not None and (old.setup.claim, old.setup.salt) == (job.setup.claim, job.setup.salt):
        # What a call before this one started may run, with nobody left who has written it down.
        job = msgspec.structs.replace(job, first=old.first)
    if first.possible(job, directory, info):
        # Held by an isolator: ours will find that out and say so.
        with contextlib.suppress(LockedError):
            lock = directory.lock()
            job = msgspec.structs.replace(job, first=first.sizes(job, directory))
    taskdir.replace(directory.job_file, msgspec.json.encode(job))
    directory.result_file.unlink(missing_ok=True)
    if lock is None:
        keeper.hold_signals()
        return keeper.start_isolator(sys.executable, str(directory.path)), 0
    gate = os.pipe()
    with keeper.signals_kept():
        # First, so that the lock names it from the task's first moment on; it waits at the gate.
        pid = keeper.start_isolator(sys.executable, str(directory.path), lock, gate)
        taskdir.sign(lock, job.setup.claim, processes.read(pid))
        runner = first.begin(job, directory, allocation)
    for end in gate:
        os.close(end)
    return pid, runner


def _with_granted_spares(request: Request) -> Request:
    """Return the request with the spare nodes that the job has got: there may have been none to give."""
    count = spares_granted(os.environ, request.workflow, request.step)
    return request if count is None else msgspec.structs.replace(request, spares=count)


def _setup(request: Request, spec: Spec | None, info: AllocationInfo, here: Path) -> Setup:
    workflow = request.workflow or WITHOUT_WORKFLOW
    step = request.step or request.name or _step_name(request)
    task = Task(
        id="",
        step=step,
        instance=request.instance,
        workspace=request.workspace or str(Path.cwd()),
        nodes=len(info.nodes),
        spares=request.spares,
    )
    task = msgspec.structs.replace(task, id=f"{workflow}/{task.name}")
    coordinator = not request.no_coordinator and (
        bool(request.workflow) or (here / "coordinator" / "endpoint.json").exists()
    )
    return Setup(
        task=task,
        workflow=workflow,
        spec=spec,
        observe=request.observe,
        coordinator=coordinator,
        claim=_claim(request, info),
        rjms=info.rjms,
        job_id=info.job_id,
        nodes=info.nodes,
        active=_active(request, info),
        own_node=info.batch_host,
        use_own_node=not request.no_own_node,
        requeue_allowed=requeue_allowed(os.environ, request.workflow, request.step),
        salt=os.urandom(16).hex(),
        coordinator_wait=request.coordinator_wait,
        term_grace=request.term_grace,
    )


def _step_name(request: Request) -> str:
    """Name a task that was not named: by its program, and apart from all others."""
    program = "script" if request.script == "-" else request.script or request.command[0]
    return f"{Path(program).name}-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"


def _active(request: Request, info: AllocationInfo) -> int | None:
    given = request.nodes.strip()
    if given and not (given.isascii() and given.isdigit() and int(given) > 0):
        raise UsageError(f"--nodes takes a number of nodes, not {given!r}")
    if given:
        return min(int(given), len(info.nodes))
    return max(len(info.nodes) - request.spares, 1) if request.spares else None


def _claim(request: Request, info: AllocationInfo) -> str:
    """Return what is the same for all calls of ``whesl exec`` that are about one start of a job's script."""
    if not request.workflow:
        return os.urandom(16).hex()
    if info.rjms != "host":
        return f"{info.job_id}.{info.restart_count}"
    # Without a resource manager the script around us is the job.
    parent = processes.read(os.getppid())
    return f"{os.uname().nodename}.{os.getppid()}.{parent.started if parent else 0}"


def _task_dir(request: Request, task: Task, here: Path) -> Path:
    if request.task_dir is not None:
        return request.task_dir.absolute()
    workflow, _, name = task.id.partition("/")
    return here / "tasks" / quote(workflow, safe="") / quote(name, safe=" +,=@:")


def _earlier(directory: TaskDir, setup: Setup, info: AllocationInfo) -> Setup | Owner | int:
    """Look at what an earlier call left: a living isolator, an end, an unfinished task, or nothing."""
    old = taskdir.load(directory.job_file, Job)
    owner = directory.owner()
    if owner is not None:
        return _attach(directory, owner, old, info)
    if old is None:
        return setup
    result = taskdir.load(directory.result_file, Result)
    if result is not None and result.claim == setup.claim:
        return result.code
    if result is not None:
        _put_aside(directory)
        return setup
    same_job = (old.setup.rjms, old.setup.job_id, old.setup.own_node) == (
        info.rjms,
        info.job_id,
        info.batch_host,
    )
    restarted = info.rjms != "host" and setup.workflow != WITHOUT_WORKFLOW
    claim = setup.claim if restarted or not same_job else old.setup.claim
    return msgspec.structs.replace(setup, claim=claim, salt=old.setup.salt)


def _attach(directory: TaskDir, owner: Owner, old: Job | None, info: AllocationInfo) -> Owner:
    if owner.host == os.uname().nodename and old is not None and old.setup.job_id == info.job_id:
        return owner
    raise AlreadyRunError(
        f"this task is run by an isolator on {owner.host or 'another node'} (claim {owner.claim})",
        hint=f"cancel that job first, or choose another name; the task's record is {directory.path}",
    )


def _put_aside(directory: TaskDir) -> None:
    """Keep an earlier run's record beside the new one."""
    number = 1
    while (aside := directory.path.with_name(f"{directory.path.name}.{number}")).exists():
        number += 1
    directory.path.rename(aside)
    directory.make()


class _Streams(msgspec.Struct, frozen=True):
    stdout: Stream
    stderr: Stream
    joined: bool

    @property
    def copied(self) -> tuple[tuple[str, Stream], ...]:
        """The streams that go to files of ours first."""
        both = (("stdout", self.stdout), ("stderr", self.stderr))
        wanted = both[:1] if self.joined else both
        return tuple((name, stream) for name, stream in wanted if not stream.path)


def _streams() -> _Streams:
    """Find out where our output goes. A regular file is the task's own from now on."""
    paths = [_regular(descriptor) for descriptor in (1, 2)]
    first, second = (os.fstat(descriptor) for descriptor in (1, 2))
    joined = (first.st_dev, first.st_ino) == (second.st_dev, second.st_ino)
    for descriptor, path in zip((1, 2), paths, strict=True):
        if path:
            keeper.append_only(descriptor)
    return _Streams(Stream(paths[0]), Stream(paths[1]), joined)


def _regular(descriptor: int) -> str:
    """Return the path of an open regular file that can be opened again, else an empty string."""
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        return ""
    try:
        path = str(Path(f"/proc/self/fd/{descriptor}").readlink())
        again = Path(path).stat()
    except OSError:
        return ""
    same = (again.st_dev, again.st_ino) == (status.st_dev, status.st_ino)
    return path if same and os.access(path, os.W_OK) else ""


def _job(request: Request, setup: Setup, streams: _Streams) -> Job:
    script = None
    if request.script == "-":
        script = sys.stdin.read()
    elif request.script is not None:
        try:
            script = Path(request.script).read_text()
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"the script {request.script} cannot be read: {error}") from error
    stdin, offset = ("/dev/null", 0) if request.script == "-" else _stdin()
    return Job(
        setup=setup,
        command=request.command,
        script=script,
        interpreter=launching.interpreter(script) if script is not None else (),
        workdir=str(Path.cwd()),
        stdin=stdin,
        stdin_offset=offset,
        stdout=streams.stdout,
        stderr=streams.stderr,
        joined=streams.joined,
        heartbeat=request.heartbeat,
        heartbeat_limit=request.heartbeat_limit,
        json_summary=str(request.json_summary.absolute()) if request.json_summary else "",
        inner=request.inner,
    )


def _stdin() -> tuple[str, int]:
    """Return a regular file on standard input and the place in it; each attempt reads it anew."""
    try:
        path = _regular_input()
        return (path, os.lseek(0, 0, os.SEEK_CUR)) if path else ("", 0)
    except OSError as error:
        raise RefusedError(
            f"standard input cannot be used: {error.strerror}", hint="add </dev/null"
        ) from error


def _regular_input() -> str:
    status = os.fstat(0)
    if not stat.S_ISREG(status.st_mode):
        return ""
    path = str(Path("/proc/self/fd/0").readlink())
    return path if os.access(path, os.R_OK) else ""
