"""The client side of one step, which runs as ``srun`` while the step's tasks run.

The client exchanges tasks, output and signals with the nodes, and asks the server only which nodes are lost.
Like Slurm's srun, it waits for a silent node until the server declares the node down.
"""

from __future__ import annotations

import os
import selectors
import signal
import stat
import sys
import time
from collections.abc import Callable

from whesl.managers.resource.embedded import protocol
from whesl.managers.resource.embedded.channel import Channel, ChannelClosedError, watch_writing
from whesl.managers.resource.embedded.cluster_directory import SERVER, Cluster
from whesl.managers.resource.embedded.commands.output_sinks import Sinks
from whesl.managers.resource.embedded.scheduler.job_and_node_records import Job, Step, StepWish
from whesl.managers.resource.embedded.scheduler.job_steps import KILLED
from whesl.model.errors import RefusedError
from whesl.model.hostlist import ranges

RECONNECT = 0.2
INPUT_CHUNK = 64 * 1024
FORWARDED = (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM)


def say(text: str) -> None:
    """Write a message of srun's own to standard error."""
    sys.stderr.write(f"srun: {text}\n")
    sys.stderr.flush()


class Remote:
    """One node of the step: its connection, and the bytes of input that its tasks have not received."""

    def __init__(self, name: str, tasks: tuple[int, ...]) -> None:
        self.name, self.tasks = name, tasks
        self.channel: Channel | None = None
        self.over = False
        self.untaken = 0


class StepClient:
    """Creates a step, runs it to its end, and returns its exit code.

    Args:
        cluster: the cluster of the job.
        job: the step's job.
        launch: makes the message that starts a node's tasks, given the step and the tasks' numbers.
        sinks: destinations of the tasks' output.
        kill_on_bad_exit: end the step when a task fails.
        no_kill: let the other nodes go on when one is lost.
        kill_wait: seconds from SIGTERM to SIGKILL, for the message about an aborted step.
        owns_job: whether the job ends with this process, which then registers as its owner at a restarted
            server.
    """

    def __init__(
        self,
        cluster: Cluster,
        job: Job,
        launch: Callable[[Step, tuple[int, ...]], protocol.LaunchStep],
        sinks: Sinks,
        *,
        kill_on_bad_exit: bool,
        no_kill: bool,
        kill_wait: float,
        owns_job: bool = False,
    ) -> None:
        self._cluster, self._job, self._launch, self._sinks = cluster, job, launch, sinks
        self._kill_on_bad_exit, self._no_kill, self._kill_wait = kill_on_bad_exit, no_kill, kill_wait
        # poll(2), since standard input may be a plain file, which epoll(7) refuses.
        self._selector = selectors.PollSelector()
        self._owns_job = owns_job
        self._server: Channel | None = None
        self._retry_at = 0.0
        self._step: Step | None = None
        self._remotes: dict[str, Remote] = {}
        self._code = 0
        self._terminated = False
        self._input_open = False
        self._signals = _signals()
        self._selector.register(self._signals, selectors.EVENT_READ, self._on_signal)

    def run(self, wish: StepWish) -> int:
        """Run the step. Raises RefusedError in Slurm's words when it is not created."""
        self._step = step = self._create(wish)
        for share in step.shares:
            self._remotes[share.node] = Remote(share.node, share.tasks)
        self._sinks.open(self._job, step)
        for remote in self._remotes.values():
            self._start(remote)
        self._open_input()
        while not all(remote.over for remote in self._remotes.values()):
            self._contact()
            self._flush()
            self._wait()
        self._sinks.close()
        if self._terminated:
            say(f"Force Terminated StepId={step.job}.{step.id}")
        return self._code

    # Creation ---------------------------------------------------------------------------------------------

    def _create(self, wish: StepWish) -> Step:
        waited = False
        while True:
            channel = self._cluster.connect()
            channel.send(protocol.CreateStep(wish=wish))
            answers: list[protocol.AnyMessage] = []
            self._selector.register(channel, selectors.EVENT_READ, lambda: None)
            try:
                while True:
                    channel.flush()
                    self._selector.select()
                    if number := self._pending_signal():
                        raise SystemExit(128 + number)
                    answers += channel.receive()
                    while answers:
                        answer = answers.pop(0)
                        if isinstance(answer, protocol.Failed):
                            raise RefusedError(answer.text)
                        if isinstance(answer, protocol.StepWaits) and not waited:
                            waited = True
                            say(
                                f"Job {wish.job} step creation temporarily disabled, "
                                "retrying (Requested nodes are busy)"
                            )
                        if isinstance(answer, protocol.StepState):
                            if waited:
                                say(f"Step created for job {wish.job}")
                            self._selector.modify(channel, selectors.EVENT_READ, self._from_server)
                            self._server = channel
                            return answer.step
            except ChannelClosedError:
                self._selector.unregister(channel)
                channel.close()

    def _start(self, remote: Remote) -> None:
        assert self._step is not None
        try:
            channel = self._cluster.sockets.connect(remote.name)
        except (OSError, ChannelClosedError):
            # The node is dead; the server will report the loss.
            return
        remote.channel = channel
        self._selector.register(channel, selectors.EVENT_READ, self._reader(remote, channel))
        channel.send(self._launch(self._step, remote.tasks))

    # Messages of nodes ------------------------------------------------------------------------------------

    def _reader(self, remote: Remote, channel: Channel) -> Callable[[], None]:
        def readable() -> None:
            try:
                messages = channel.receive()
            except ChannelClosedError:
                self._silent(remote)
                return
            exits: dict[str, list[int]] = {}
            for message in messages:
                if isinstance(message, protocol.Output):
                    self._sinks.write(message.task, message.stream, message.data)
                elif isinstance(message, protocol.TaskExit):
                    self._on_exit(message, exits)
                elif isinstance(message, protocol.Taken):
                    remote.untaken -= message.count
                    self._resume_input()
                elif isinstance(message, protocol.Failed):
                    where = f"StepId={self._name()} failed on node {remote.name}"
                    say(f"error: Task launch for {where}: {message.text}")
                    self._code = max(self._code, 1)
                    self._over(remote)
                elif isinstance(message, protocol.StepDone):
                    self._over(remote)
            for text, tasks in exits.items():
                listed = (
                    f"task{'s' if len(tasks) > 1 else ''} {ranges([str(task) for task in sorted(tasks)])}"
                )
                say(f"error: {remote.name}: {listed}: {text}")
            if exits and self._kill_on_bad_exit and not self._terminated:
                say(f"launch/slurm: _step_signal: Terminating StepId={self._name()}")
                self._terminate(signal.SIGTERM)

        return readable

    def _on_exit(self, message: protocol.TaskExit, exits: dict[str, list[int]]) -> None:
        if message.signal:
            self._code = max(self._code, 128 + message.signal)
            exits.setdefault(_signal_text(message.signal), []).append(message.task)
        elif message.code:
            self._code = max(self._code, message.code)
            exits.setdefault(f"Exited with exit code {message.code}", []).append(message.task)

    def _silent(self, remote: Remote) -> None:
        """Handle a connection that broke before the node reported its tasks' end."""
        self._close(remote)
        self._judge(remote)

    def _over(self, remote: Remote) -> None:
        remote.over = True
        self._close(remote)

    def _close(self, remote: Remote) -> None:
        remote.untaken = 0
        if remote.channel is not None:
            self._selector.unregister(remote.channel)
            remote.channel.close()
            remote.channel = None
        self._resume_input()

    # Messages of the server ---------------------------------------------------------------------------------

    def _from_server(self) -> None:
        assert self._server is not None
        try:
            messages = self._server.receive()
        except ChannelClosedError:
            self._lose_server()
            return
        for message in messages:
            if isinstance(message, protocol.StepState):
                self._step = message.step
                for remote in list(self._remotes.values()):
                    self._judge(remote)
            elif isinstance(message, protocol.Failed):
                # The server does not know the step: nodes without a connection will report no more.
                for remote in self._remotes.values():
                    if not remote.over and remote.channel is None:
                        self._lost(remote)

    def _judge(self, remote: Remote) -> None:
        """Apply the server's record of the step to a node that has not reported its tasks' end to srun."""
        step = self._step
        if remote.over or step is None:
            return
        if remote.name in step.lost:
            self._lost(remote)
        elif remote.name not in step.open_nodes and remote.channel is None:
            # The node reported the end to the server, but its last messages did not reach this process.
            self._code = max(self._code, step.code)
            self._over(remote)

    def _lost(self, remote: Remote) -> None:
        say(f"error: Node failure on {remote.name}")
        self._code = max(self._code, KILLED)
        self._over(remote)
        if not self._no_kill and not self._terminated:
            self._abort(signal.SIGKILL)

    def _lose_server(self) -> None:
        if self._server is not None:
            self._selector.unregister(self._server)
            self._server.close()
            self._server = None
            self._retry_at = 0.0

    def _contact(self) -> None:
        if self._server is not None or time.monotonic() < self._retry_at:
            return
        self._retry_at = time.monotonic() + RECONNECT
        step = self._step
        assert step is not None
        try:
            self._server = self._cluster.sockets.connect(SERVER)
        except (OSError, ChannelClosedError):
            return
        self._selector.register(self._server, selectors.EVENT_READ, self._from_server)
        self._server.send(protocol.AttachStep(job=step.job, restart=step.restart, step=step.id))
        if self._owns_job:
            self._server.send(protocol.WatchJob(job=str(step.job), owner=True))

    # Signals ----------------------------------------------------------------------------------------------

    def _pending_signal(self) -> int:
        try:
            data = os.read(self._signals, 64)
        except BlockingIOError:
            return 0
        return data[0] if data else 0

    def _on_signal(self) -> None:
        while number := self._pending_signal():
            if number == signal.SIGTERM:
                if not self._terminated:
                    say("forcing job termination")
                    self._abort(signal.SIGKILL)
            elif number in FORWARDED:
                self._send_signal(number, "")

    def _abort(self, number: int) -> None:
        say(f"Job step aborted: Waiting up to {int(self._kill_wait) + 2} seconds for job step to finish.")
        self._terminate(number)

    def _terminate(self, number: int) -> None:
        self._terminated = True
        self._send_signal(number, f"CANCELLED AT {time.strftime('%Y-%m-%dT%H:%M:%S')}")

    def _send_signal(self, number: int, note: str) -> None:
        for remote in self._remotes.values():
            if remote.channel is not None:
                remote.channel.send(protocol.SignalStep(number=number, note=note))

    # Standard input ---------------------------------------------------------------------------------------

    def _open_input(self) -> None:
        self._input_open = self._sinks.takes_input
        self._resume_input()

    def _resume_input(self) -> None:
        registered = 0 in self._selector.get_map()
        wanted = self._input_open and not any(remote.untaken for remote in self._remotes.values())
        if wanted and not registered:
            self._selector.register(0, selectors.EVENT_READ, self._read_input)
        elif registered and not wanted:
            self._selector.unregister(0)

    def _read_input(self) -> None:
        try:
            data = os.read(0, INPUT_CHUNK)
        except OSError:
            data = b""
        for remote in self._remotes.values():
            if remote.channel is not None:
                remote.channel.send(protocol.Input(data=data))
                remote.untaken += len(data)
        self._input_open = bool(data)
        self._resume_input()

    # The loop ---------------------------------------------------------------------------------------------

    def _wait(self) -> None:
        timeout = None if self._server is not None else RECONNECT
        for key, _ in self._selector.select(timeout):
            if self._selector.get_map().get(key.fd) is key:
                key.data()

    def _flush(self) -> None:
        for remote in self._remotes.values():
            channel = remote.channel
            if channel is not None:
                try:
                    channel.flush()
                except ChannelClosedError:
                    # The connection's reader notices its end.
                    channel.outgoing.clear()
                watch_writing(self._selector, channel)
        if self._server is not None:
            try:
                self._server.flush()
            except ChannelClosedError:
                self._lose_server()

    def _name(self) -> str:
        assert self._step is not None
        return f"{self._step.job}.{self._step.id}"


def input_wanted() -> bool:
    """Whether standard input is open, and neither /dev/null nor a directory."""
    try:
        found = os.fstat(0)
    except OSError:
        return False
    is_null = stat.S_ISCHR(found.st_mode) and found.st_rdev == os.makedev(1, 3)
    return not is_null and not stat.S_ISDIR(found.st_mode)


def _signals() -> int:
    """Return a pipe's end from which the number of each arriving signal can be read as a byte."""
    reading, writing = os.pipe()
    for descriptor in (reading, writing):
        os.set_blocking(descriptor, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    for number in (signal.SIGTERM, *FORWARDED):
        signal.signal(number, lambda *_: None)
    return reading


def _signal_text(number: int) -> str:
    text = signal.strsignal(number) or f"signal {number}"
    return f"{text} (core dumped)" if number in (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS) else text
