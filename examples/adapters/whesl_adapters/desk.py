"""A resource manager in a directory: three nodes that are this machine, no daemon.

Each call takes the directory's lock, looks which jobs have ended, and starts those that can start. A job is a
file ``ID.json`` and a process group that writes its exit status to ``ID.RUN.status`` when it ends.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from whesl.api.resource_manager import (
    AllocationInfo,
    CouldNotObserveError,
    JobRecord,
    JobRequest,
    JobState,
    NodeRecord,
    NodeState,
    RefusedError,
    Step,
    StepRequest,
    UsageError,
)

NODES = ("desk1", "desk2", "desk3")
# The shell outlives its script, whatever signals come: how that ended is a file that appears whole.
RUN = """\
trap : USR1 USR2 TERM INT HUP
status=$1; shift
"$@"
echo $? > "$status.new"
mv "$status.new" "$status"
"""


class Job(msgspec.Struct, kw_only=True):
    """A job as its file has it. ``pid`` is that of its process group, 0 while it waits."""

    request: JobRequest
    record: JobRecord
    pid: int = 0
    born: float = 0.0  # when the process began, by the kernel: another one may get its number


class DeskScheduler:
    """The outside face.

    Args:
        root: the directory; "" for DESK_ROOT, or ``~/.desk``.
        patience: seconds to wait for the lock.
    """

    name = "desk"

    def __init__(self, root: str = "", patience: float = 5.0) -> None:
        self.root = Path(root or os.environ.get("DESK_ROOT") or "~/.desk").expanduser()
        self.patience = patience

    @contextlib.contextmanager
    def _jobs(self) -> Iterator[dict[str, Job]]:
        """Give all jobs as they are now; what the caller changes of them is written."""
        try:
            self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = (self.root / "lock").open("w")
        except OSError as error:
            raise CouldNotObserveError(f"{self.root}: {error.strerror}") from error
        with lock:
            deadline = time.monotonic() + self.patience
            while True:
                with contextlib.suppress(BlockingIOError):
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                if time.monotonic() > deadline:
                    raise CouldNotObserveError(f"{self.root} is locked for {self.patience:g} s")
                time.sleep(0.02)
            files = sorted(self.root.glob("*.json"), key=lambda file: int(file.stem))
            jobs = {file.stem: msgspec.json.decode(file.read_bytes(), type=Job) for file in files}
            self._advance(jobs)
            yield jobs
            self._advance(jobs)
            for name, job in jobs.items():
                new = self.root / f"{name}.new"
                new.write_bytes(msgspec.json.encode(job))
                new.replace(self.root / f"{name}.json")

    def _marks(self) -> dict[str, str]:
        found = {node: self.root / f"{node}.drained" for node in NODES}
        return {node: file.read_text() for node, file in found.items() if file.exists()}

    def _advance(self, jobs: dict[str, Job]) -> None:
        """Take the ends of jobs, then start what can start, in the order of submission."""
        for job in jobs.values():
            if job.record.state is JobState.RUNNING:
                self._look(job)
        for job in jobs.values():
            if job.record.state is not JobState.PENDING:
                continue
            parents = [jobs[name].record.state for name in job.request.after_ok if name in jobs]
            if any(state.ended and state is not JobState.COMPLETED for state in parents):
                _change(job, state=JobState.CANCELLED, ended=time.time(), reason="its parent failed")
            elif all(state is JobState.COMPLETED for state in parents):
                running = [other.record for other in jobs.values() if other.record.state is JobState.RUNNING]
                used = {node for record in running for node in record.nodes}
                out = used | set(job.request.exclude) | self._marks().keys()
                free = [node for node in NODES if node not in out]
                if len(free) >= job.request.nodes:
                    self._start(job, tuple(free[: job.request.nodes]))

    def _status(self, job: Job) -> Path:
        return self.root / f"{job.record.id}.{job.record.restarts}.status"

    def _start(self, job: Job, nodes: tuple[str, ...]) -> None:
        asked, name = job.request, job.record.id
        environment = {**os.environ, **asked.environment, "DESK_JOB": name, "DESK_NODES": ",".join(nodes)}
        environment["DESK_RESTARTS"] = str(job.record.restarts)
        with (
            Path(asked.output or os.devnull).open("ab") as output,
            Path(asked.error).open("ab") if asked.error else contextlib.nullcontext(output) as error,
        ):
            process = subprocess.Popen(
                ["sh", "-c", RUN, "desk", str(self._status(job)), asked.script, *asked.arguments],
                cwd=asked.workdir or None,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=error,
                start_new_session=True,
            )
        job.pid, job.born = process.pid, _born(process.pid)
        _change(job, state=JobState.RUNNING, nodes=nodes, batch_host=nodes[0], started=time.time())

    def _look(self, job: Job) -> None:
        """Take the end of a job that has ended, by its status, or without one."""
        alive = _born(job.pid) == job.born  # looked at first: a status that comes now is seen
        status = self._status(job)
        if status.exists():
            code = int(status.read_text())
            code = 128 - code if code > 128 else code
            state = JobState.COMPLETED if code == 0 else JobState.FAILED
            _change(job, state=state, exit_code=code, ended=time.time())
        elif not alive:
            _change(job, state=JobState.FAILED, exit_code=-signal.SIGKILL, ended=time.time())

    def submit(self, request: JobRequest) -> str:
        """Submit once for each token."""
        if request.partition not in ("", "desk"):
            raise RefusedError(f"there is no partition {request.partition}")
        if request.nodes > len(NODES):
            raise RefusedError(f"there are {len(NODES)} nodes, not {request.nodes}")
        if request.demands.besides():
            raise RefusedError(f"not to be had here: {', '.join(request.demands.besides())}")
        with self._jobs() as jobs:
            for name, job in jobs.items():
                if job.request.token == request.token:
                    return name
            name = str(max(map(int, jobs), default=0) + 1)
            record = JobRecord(
                id=name,
                token=request.token,
                name=request.name or Path(request.script).name,
                state=JobState.PENDING,
                submitted=time.time(),
            )
            jobs[name] = Job(request=request, record=record)
            return name

    def request_of(self, script: str, arguments: Sequence[str]) -> JobRequest:
        """Return what a script's lines ``#DESK nodes=2`` ask for; arguments are ``--nodes=2``."""
        lines = Path(script).read_text().splitlines()
        words = [line.removeprefix("#DESK ").strip() for line in lines if line.startswith("#DESK ")]
        asked = dict(word.partition("=")[::2] for word in (*words, *(word.lstrip("-") for word in arguments)))
        if strange := asked.keys() - {"nodes", "output"}:
            raise UsageError(f"{script}: the desk knows nodes and output, not {min(strange)}")
        nodes = asked.get("nodes", "1")
        if not nodes.isascii() or not nodes.isdigit():
            raise UsageError(f"{script}: nodes={nodes} is no number")
        output = str(Path(asked["output"]).absolute()) if "output" in asked else ""
        return JobRequest(token="", script=script, nodes=int(nodes), output=output)

    def find(self, token: str) -> JobRecord | None:
        """Return the job of a token."""
        with self._jobs() as jobs:
            return next((job.record for job in jobs.values() if job.request.token == token), None)

    def jobs(self, ids: Sequence[str]) -> dict[str, JobRecord]:
        """Return the records of jobs that there are."""
        with self._jobs() as jobs:
            return {name: jobs[name].record for name in ids if name in jobs}

    def nodes(self) -> list[NodeRecord]:
        """Return the three nodes."""
        with self._jobs():
            marks = self._marks()
        states = {True: NodeState.DRAINED, False: NodeState.UP}
        return [NodeRecord(name=n, state=states[n in marks], reason=marks.get(n, "")) for n in NODES]

    def cancel(self, job_id: str, signal: int | None = None) -> None:  # as the port calls it
        """Cancel a job, or send it a signal."""
        with self._jobs() as jobs:
            job = jobs.get(job_id)
            if job is None or job.record.state.ended:
                return
            if signal is not None:
                _send(job, signal)
                return
            _send(job, 9)
            _change(job, state=JobState.CANCELLED, ended=time.time())

    def requeue(self, job_id: str) -> None:
        """Run a job again under its id."""
        with self._jobs() as jobs:
            job = jobs.get(job_id)
            if job is None or not job.request.requeue:
                raise RefusedError(f"job {job_id} may not run again")
            _send(job, 9)
            changed = {"state": JobState.PENDING, "nodes": (), "batch_host": "", "started": 0.0, "ended": 0.0}
            _change(job, restarts=job.record.restarts + 1, exit_code=None, **changed)

    def mark_node(self, node: str, reason: str) -> bool:
        """Take a node out of service."""
        with self._jobs():
            (self.root / f"{node}.drained").write_text(reason)
        return True

    def unmark_node(self, node: str) -> bool:
        """Return a node to service."""
        with self._jobs():
            (self.root / f"{node}.drained").unlink(missing_ok=True)
        return True


class DeskStep:
    """A step: a process for each node, or ``tasks`` of them. Its first one stands for it."""

    def __init__(self, tasks: list[subprocess.Popen[bytes]]) -> None:
        self.tasks = tasks
        self.pid = tasks[0].pid

    def poll(self) -> int | None:
        """Return the first failure's status once all have ended."""
        statuses = [task.poll() for task in self.tasks]
        ended = [status for status in statuses if status is not None]
        return next(filter(None, ended), 0) if len(ended) == len(statuses) else None


class DeskAllocation:
    """The inside face.

    Args:
        environ: the job's environment.
    """

    name = "desk"

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = dict(environ)
        self._nodes = tuple(environ["DESK_NODES"].split(","))

    @staticmethod
    def present(environ: Mapping[str, str]) -> bool:
        """Whether a process is inside a job of the desk."""
        return "DESK_JOB" in environ

    def describe(self) -> AllocationInfo:
        """Return what the job was given."""
        return AllocationInfo(
            rjms=self.name,
            job_id=self._environ["DESK_JOB"],
            nodes=self._nodes,
            batch_host=self._nodes[0],
            restart_count=int(self._environ["DESK_RESTARTS"]),
        )

    def launch(self, request: StepRequest) -> DeskStep:
        """Start a process for each task, in a session of its own, with its node's name in DESK_NODE."""
        if not set(request.nodes) <= set(self._nodes):
            raise RefusedError(f"not of this job: {', '.join(set(request.nodes) - set(self._nodes))}")
        tasks = []
        with (
            Path(request.output or os.devnull).open("ab") as output,
            Path(request.error).open("ab") if request.error else contextlib.nullcontext(output) as error,
        ):
            for number in range(request.tasks or len(request.nodes)):
                node = request.nodes[number % len(request.nodes)]
                tasks.append(
                    subprocess.Popen(
                        request.command,
                        env={**self._environ, **request.environment, "DESK_NODE": node},
                        cwd=request.workdir or None,
                        stdin=subprocess.DEVNULL,
                        stdout=output,
                        stderr=error,
                        start_new_session=True,
                    )
                )
        return DeskStep(tasks)

    def signal(self, step: Step, signum: int) -> None:
        """Send a signal to the process groups of a step."""
        assert isinstance(step, DeskStep)
        for task in step.tasks:
            if task.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(task.pid, signum)

    def node_states(self) -> dict[str, NodeState]:
        """Return that all nodes are up: they are this machine."""
        return dict.fromkeys(self._nodes, NodeState.UP)

    def gone(self, node: str) -> bool | None:
        """Return that it cannot be told: nodes of the desk have no daemon."""
        return None

    def launch_environment(self, active: Sequence[str], base: Mapping[str, str]) -> dict[str, str]:
        """Return the variable that names the nodes of a job."""
        return {"DESK_NODES": ",".join(active)}

    def release(self, node: str) -> bool:
        """Return that nodes are not given back one by one."""
        return False


def _change(job: Job, **fields: object) -> None:
    job.record = msgspec.structs.replace(job.record, **fields)


def _send(job: Job, signum: int) -> None:
    """Send a signal to a job's processes, if they still are that job's."""
    if job.pid and _born(job.pid) == job.born:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(job.pid, signum)


def _born(pid: int) -> float:
    """Return when a process began, in the kernel's ticks; 0 where it is none or has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return 0.0 if fields[0] == "Z" else float(fields[19])
