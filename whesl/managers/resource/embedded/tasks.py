"""Processes of scripts and tasks on one virtual node: start, input, output and exit."""

from __future__ import annotations

import errno
import os
import resource
import selectors
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from whesl.managers.resource import command_call
from whesl.managers.resource.embedded import process_lookup, protocol
from whesl.managers.resource.embedded.channel import Channel, restored
from whesl.managers.resource.embedded.environment import STEP, of_task
from whesl.managers.resource.embedded.scheduler.actions import Message
from whesl.managers.resource.launcher_shims.nodes_in_use import TOKEN
from whesl.model import attempt_rlimit_mark

READ = 64 * 1024
LINE_LIMIT = 64 * 1024  # bytes; a longer line is passed on in pieces
BACKLOG = 1024 * 1024  # bytes unsent to a slow srun above which the tasks' output is not read

Incarnation = tuple[int, int]


class Stream:
    """Standard output or error of one task, passed on in whole lines unless ``raw``."""

    def __init__(self, descriptor: int, task: int, number: int, raw: bool) -> None:
        os.set_blocking(descriptor, False)
        self.descriptor, self.task, self.number, self._raw = descriptor, task, number, raw
        self._partial = b""

    def read(self) -> tuple[bytes, bool]:
        """Return output to pass on now, and whether the stream has ended."""
        try:
            data = os.read(self.descriptor, READ)
        except BlockingIOError:
            return b"", False
        except OSError:
            data = b""
        if not data:
            rest, self._partial = self._partial, b""
            return rest, True
        data = self._partial + data
        cut = len(data) if self._raw or len(data) > LINE_LIMIT else data.rfind(b"\n") + 1
        self._partial = data[cut:]
        return data[:cut], False

    def drain(self) -> bytes:
        """Return the remaining output and close the stream, even while a leftover process holds it open."""
        result = b""
        while True:
            data, end = self.read()
            result += data
            if end or not data:
                break
        os.close(self.descriptor)
        return result + self._partial


class Task:
    """The process of a job's script (``number`` -1) or of one task of a step; a session leader."""

    def __init__(self, popen: subprocess.Popen[bytes], number: int) -> None:
        self.popen, self.pid, self.number = popen, popen.pid, number
        self.streams: list[Stream] = []
        self.input = bytearray()
        self.input_ended = False


class LocalStep:
    """The tasks of a step on this node."""

    def __init__(self, launch: protocol.LaunchStep, channel: Channel) -> None:
        self.launch = launch
        self.channel: Channel | None = channel
        self.tasks: dict[int, Task] = {}
        self.code = 0
        self.untaken = 0

    @property
    def incarnation(self) -> Incarnation:
        """The job's id and restart count."""
        return self.launch.job, self.launch.restart

    @property
    def key(self) -> tuple[int, int, int]:
        """The job's id, its restart count, and the step's number."""
        return self.launch.job, self.launch.restart, self.launch.step

    def send(self, message: Message) -> None:
        """Send a message to the step's srun, if it is still connected."""
        if self.channel is not None and not self.channel.closed:
            self.channel.send(message)

    def say(self, text: str) -> None:
        """Send a line of the node's own to srun, which writes it to its standard error."""
        self.send(protocol.Output(task=-1, stream=2, data=text.encode() + b"\n"))


class Runner:
    """Starts processes and passes their output on.

    Args:
        cluster: the cluster's directory.
        node: this node's name.
        storage: path of the node's local storage.
        selector: the node daemon's selector, on which streams are registered with a callback as data.
    """

    def __init__(self, cluster: str, node: str, storage: str, selector: selectors.BaseSelector) -> None:
        self._cluster, self._node, self._storage = cluster, node, storage
        self._selector = selector
        self.owners: dict[int, tuple[Task, LocalStep | None, Incarnation]] = {}

    def start_script(self, launch: protocol.Launch) -> Task | tuple[int, str]:
        """Start a job's script; return its task, or an exit code and a message when it cannot start."""
        launch = restored(launch)
        flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | (os.O_APPEND if launch.append else os.O_TRUNC)
        opened: list[int] = []
        try:
            opened.append(os.open(launch.input, os.O_RDONLY | os.O_CLOEXEC))
            # Always O_APPEND, so that several writers of a file do not overwrite each other.
            opened.append(os.open(launch.output, flags | os.O_APPEND, 0o666))
            if launch.error != launch.output:
                opened.append(os.open(launch.error, flags | os.O_APPEND, 0o666))
            workdir = launch.workdir
            if not os.path.isdir(workdir):  # noqa: PTH112
                complaint = f"slurmstepd: error: couldn't chdir to `{workdir}': going to /tmp instead\n"
                os.write(opened[-1], os.fsencode(complaint))
                workdir = "/tmp"  # noqa: S108  # Slurm's fallback
            name = f"{launch.job}.{launch.restart}.batch"
            environ = launch.environment | of_task(self._cluster, self._node, self._storage, name, 0, (0,))
            popen = _start(
                [launch.script, *launch.arguments],
                stdin=opened[0],
                stdout=opened[1],
                stderr=opened[-1],
                cwd=workdir,
                env=environ,
            )
        except (OSError, ValueError) as error:
            return 1, str(error)
        finally:
            for descriptor in opened:
                os.close(descriptor)
        task = Task(popen, -1)
        self.owners[task.pid] = (task, None, (launch.job, launch.restart))
        return task

    def start_step(self, step: LocalStep) -> None:
        """Start a step's tasks; one that cannot start ends with the errno as exit code, as in Slurm."""
        launch = restored(step.launch)
        name = f"{launch.job}.{launch.restart}.{launch.step}"
        failures = []
        for number in launch.tasks:
            environ = launch.environment | of_task(
                self._cluster, self._node, self._storage, name, number, launch.tasks
            )
            try:
                popen = _start(
                    launch.command,
                    stdin=subprocess.PIPE if number in launch.input else subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    cwd=launch.workdir,
                    env=environ,
                    umask=launch.umask,
                )
            except (OSError, ValueError) as error:
                code = getattr(error, "errno", None) or errno.EINVAL
                failures.append((number, code, os.strerror(code)))
                continue
            task = Task(popen, number)
            assert popen.stdout is not None and popen.stderr is not None
            for stream_number, pipe in ((1, popen.stdout), (2, popen.stderr)):
                stream = Stream(os.dup(pipe.fileno()), number, stream_number, launch.raw)
                pipe.close()
                task.streams.append(stream)
                self._selector.register(
                    stream.descriptor, selectors.EVENT_READ, self._reader(step, task, stream)
                )
            if popen.stdin is not None:
                os.set_blocking(popen.stdin.fileno(), False)
            step.tasks[number] = task
            self.owners[task.pid] = (task, step, step.incarnation)
        step.send(protocol.Launched(pids=tuple(task.pid for task in step.tasks.values())))
        for number, code, text in failures:
            step.say(f"slurmstepd: error: execve(): {launch.command[0]}: {text}")
            step.code = max(step.code, code)
            step.send(protocol.TaskExit(task=number, code=code, signal=0))

    def _reader(self, step: LocalStep, task: Task, stream: Stream) -> Callable[[], None]:
        def readable() -> None:
            data, end = stream.read()
            if data:
                step.send(protocol.Output(task=stream.task, stream=stream.number, data=data))
            if end:
                self._selector.unregister(stream.descriptor)
                os.close(stream.descriptor)
                task.streams.remove(stream)

        return readable

    def ended(self, task: Task, step: LocalStep, code: int, signum: int) -> None:
        """Pass the remaining output and the exit of a reaped task on to srun.

        Args:
            task: the task.
            step: the task's step.
            code: the exit code.
            signum: number of the signal that ended the task, 0 for none.
        """
        for stream in task.streams:
            # A stream that ``balance`` has paused is not registered.
            if stream.descriptor in self._selector.get_map():
                self._selector.unregister(stream.descriptor)
            if rest := stream.drain():
                step.send(protocol.Output(task=stream.task, stream=stream.number, data=rest))
        task.input.clear()
        task.input_ended = True
        self._pump(step, task)
        del step.tasks[task.number]
        step.code = max(step.code, 128 + signum if signum else code)
        step.send(protocol.TaskExit(task=task.number, code=code, signal=signum))

    def balance(self, step: LocalStep) -> None:
        """Pause reading a step's output while more than BACKLOG bytes wait for srun; resume it afterwards."""
        full = step.channel is not None and len(step.channel.outgoing) > BACKLOG
        for task in step.tasks.values():
            for stream in task.streams:
                reading = stream.descriptor in self._selector.get_map()
                if full and reading:
                    self._selector.unregister(stream.descriptor)
                elif not full and not reading:
                    self._selector.register(
                        stream.descriptor, selectors.EVENT_READ, self._reader(step, task, stream)
                    )

    def feed(self, step: LocalStep, data: bytes) -> None:
        """Write input to the tasks that read it, and confirm with Taken once all tasks have received it.

        Args:
            step: the step.
            data: bytes of input; empty bytes close the tasks' input.
        """
        step.untaken += len(data)
        for task in step.tasks.values():
            if data:
                task.input += data
            else:
                task.input_ended = True
            self._pump(step, task)
        self._confirm(step)

    def _pump(self, step: LocalStep, task: Task) -> None:
        pipe = task.popen.stdin
        if pipe is None or pipe.closed:
            task.input.clear()
            return
        registered = pipe.fileno() in self._selector.get_map()
        try:
            while task.input:
                del task.input[: os.write(pipe.fileno(), task.input)]
        except BlockingIOError:
            if not registered:
                self._selector.register(
                    pipe.fileno(), selectors.EVENT_WRITE, lambda: self._pump_on(step, task)
                )
            return
        except OSError:
            # The task has closed its standard input.
            task.input.clear()
            task.input_ended = True
        if registered:
            self._selector.unregister(pipe.fileno())
        if task.input_ended:
            _close(task)

    def _pump_on(self, step: LocalStep, task: Task) -> None:
        self._pump(step, task)
        self._confirm(step)

    def _confirm(self, step: LocalStep) -> None:
        if step.untaken and not any(task.input for task in step.tasks.values()):
            step.send(protocol.Taken(count=step.untaken))
            step.untaken = 0

    def of_job(self, incarnation: Incarnation, *, batch: bool = True, step: int | None = None) -> list[int]:
        """Return the living processes of a job on this node, orphans included.

        Args:
            incarnation: job and restart count.
            batch: include the script's processes.
            step: number of the only step to include; None for all steps.
        """
        prefix = f"{incarnation[0]}.{incarnation[1]}."
        roots = []
        for pid in process_lookup.children(os.getpid()):
            owned = self.owners.get(pid)
            if owned is not None:
                _, local, theirs = owned
                mark = f"{theirs[0]}.{theirs[1]}." + (str(local.launch.step) if local else "batch")
            else:
                mark = process_lookup.variables(pid, (STEP,)).get(STEP, "")
            if not mark.startswith(prefix):
                continue
            part = mark[len(prefix) :]
            wanted = (part == "batch" and batch) if step is None or part == "batch" else part == str(step)
            if wanted or (step is None and part != "batch"):
                roots.append(pid)
        return process_lookup.descendants(roots)

    def signal_step(self, step: LocalStep, number: int) -> None:
        """Send a signal to a step's tasks; SIGKILL also reaches all processes that the tasks started.

        Args:
            step: the step.
            number: the signal's number.
        """
        for task in list(step.tasks.values()):
            command_call.send_group(task.pid, number)
        if number == signal.SIGKILL:
            for pid in self.of_job(step.incarnation, batch=False, step=step.launch.step):
                command_call.send(pid, number)


def _start(
    command: Sequence[str],
    *,
    stdin: int,
    stdout: int,
    stderr: int,
    cwd: str,
    env: Mapping[str, str],
    umask: int = -1,
) -> subprocess.Popen[bytes]:
    """Start a process as the leader of a new session.

    On a node with limited storage, the process ignores SIGXFSZ: a write beyond the limit fails instead.
    A process of an attempt carries the attempt's mark (a soft limit), as under Slurm and Flux. The mark is
    set after the fork: with it, this daemon would count as an attempt's process and be killed with these.
    """
    hard = resource.getrlimit(resource.RLIMIT_RSS)[1]
    token = env.get(TOKEN, "")
    mark = (attempt_rlimit_mark.of_token(token), hard) if token and hard == resource.RLIM_INFINITY else None
    limited = resource.getrlimit(resource.RLIMIT_FSIZE)[0] != resource.RLIM_INFINITY
    kept = (signal.SIGXFSZ,) if limited else ()
    # Ignored signals get their default action, also those that the cluster's starter ignored (a shell ignores
    # SIGINT for background jobs).
    ignored = [
        number
        for number in signal.valid_signals()
        if number not in kept and signal.getsignal(number) is signal.SIG_IGN
    ]
    for number in ignored:
        signal.signal(number, signal.SIG_DFL)
    try:
        return subprocess.Popen(
            command,
            bufsize=0,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            cwd=cwd,
            env=env,
            umask=umask,
            start_new_session=True,
            restore_signals=False,
            preexec_fn=partial(resource.setrlimit, resource.RLIMIT_RSS, mark) if mark else None,
        )
    finally:
        for number in ignored:
            signal.signal(number, signal.SIG_IGN)


def _close(task: Task) -> None:
    if task.popen.stdin is not None and not task.popen.stdin.closed:
        try:
            task.popen.stdin.close()
        except OSError:
            # The task has ended before its standard input was closed.
            return
