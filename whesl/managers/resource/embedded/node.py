"""Virtual nodes: ``python -m whesl.managers.resource.embedded.node DIRECTORY n01 n02 ...``.

Each node is one process, forked from one interpreter so that the nodes share its memory. A node runs scripts
and steps, survives the server, and repeats its reports until the server acknowledges them. Orphans of its
processes become its children, so that no process outlives its node.
"""

from __future__ import annotations

import contextlib
import gc
import os
import resource
import selectors
import shutil
import signal
import socket
import sys
import time
import traceback
import uuid
from collections.abc import Callable

from whesl.files import file_retry
from whesl.managers.resource import command_call
from whesl.managers.resource.embedded import process_lookup, protocol
from whesl.managers.resource.embedded.channel import Channel, ChannelClosedError, watch_writing
from whesl.managers.resource.embedded.cluster_directory import SERVER, Cluster
from whesl.managers.resource.embedded.scheduler.actions import EndJob, SignalTasks
from whesl.managers.resource.embedded.tasks import Incarnation, LocalStep, Runner, Task
from whesl.runtime.locking import takeover_lock

RECONNECT = 0.1
KILL_ROUND = 0.05


class NodeDaemon:
    """The event loop of one node.

    Args:
        cluster: the node's cluster.
        name: the node's name.
    """

    def __init__(self, cluster: Cluster, name: str) -> None:
        self._cluster, self._name = cluster, name
        settings = cluster.settings()
        self._beat_interval = min(1.0, settings.node_timeout / 5)
        self._boot = uuid.uuid4().hex
        self._selector = selectors.DefaultSelector()
        self._listener = cluster.sockets.listen(name)
        self._selector.register(self._listener, selectors.EVENT_READ, self._accept)
        wakeup, wakeup_end = socket.socketpair()
        for end in (wakeup, wakeup_end):
            end.setblocking(False)
        self._wakeup = wakeup
        signal.set_wakeup_fd(wakeup_end.fileno(), warn_on_full_buffer=False)
        self._wakeup_end = wakeup_end
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._selector.register(wakeup, selectors.EVENT_READ, self._woken)
        self._runner = Runner(cluster.path, name, cluster.join("nodes", name, "storage"), self._selector)
        self._server: Channel | None = None
        self._retry_at = 0.0
        self._pause = RECONNECT
        self._beat_at = 0.0
        self._clients: dict[Channel, LocalStep | None] = {}
        self._steps: dict[tuple[int, int, int], LocalStep] = {}
        self._scripts: dict[Incarnation, Task | None] = {}  # None once the script has ended
        self._script_errors: dict[Incarnation, str] = {}
        self._incarnations: set[Incarnation] = set()
        self._ending: dict[Incarnation, float] = {}  # monotonic time of SIGKILL
        self._cleared: dict[int, int] = {}  # job's id: highest restart count cleared here
        self._refused_steps: set[tuple[int, int, int]] = set()
        self._refused_tokens: set[str] = set()
        self._reports: dict[int, protocol.Report] = {}
        self._last_report = 0

    def run(self) -> None:
        """Serve until killed."""
        while True:
            now = time.monotonic()
            self._contact(now)
            self._kill_overdue(now)
            self._flush()
            for key, _ in self._selector.select(self._timeout(time.monotonic())):
                # An earlier callback may have closed the descriptor, whose number a new file may have.
                if self._selector.get_map().get(key.fd) is key:
                    key.data()

    def _timeout(self, now: float) -> float:
        due = self._beat_at if self._server is not None else self._retry_at
        if self._ending:
            due = min(due, now + KILL_ROUND)
        return max(0.0, due - now)

    # The server -------------------------------------------------------------------------------------------

    def _contact(self, now: float) -> None:
        if self._server is not None:
            if now >= self._beat_at:
                self._server.send(protocol.Beat())
                self._beat_at = now + self._beat_interval
            return
        if now < self._retry_at:
            return
        self._pause = min(1.0, self._pause * 1.2)
        self._retry_at = now + self._pause
        try:
            channel = self._cluster.sockets.connect(SERVER)
        except (OSError, ChannelClosedError):
            if file_retry.gone(self._cluster.join("settings.json")):
                # The cluster's directory was deleted: no command could stop this node any more.
                raise SystemExit(0) from None
            return
        self._pause = RECONNECT
        self._server = channel
        self._beat_at = now + self._beat_interval
        self._selector.register(channel, selectors.EVENT_READ, self._from_server)
        known = tuple(sorted(self._incarnations))
        channel.send(protocol.Register(node=self._name, boot=self._boot, incarnations=known))
        for report in self._reports.values():
            channel.send(report)

    def _from_server(self) -> None:
        assert self._server is not None
        try:
            for message in self._server.receive():
                self._obey(message)
        except ChannelClosedError:
            self._lose_server()

    def _lose_server(self) -> None:
        if self._server is not None:
            self._selector.unregister(self._server)
            self._server.close()
            self._server = None

    def _obey(self, message: protocol.AnyMessage) -> None:
        if isinstance(message, protocol.Acknowledge):
            self._reports.pop(message.number, None)
        elif isinstance(message, protocol.Launch):
            self._launch(message)
        elif isinstance(message, EndJob):
            self._end_job(message)
        elif isinstance(message, SignalTasks):
            self._signal_tasks(message)
        elif isinstance(message, protocol.WatchStep):
            key = (message.job, message.restart, message.step)
            if key not in self._steps:
                self._refused_steps.add(key)
                self._report("step-ended", *key)

    def _report(
        self, what: str, job: int, restart: int, step: int = -1, code: int = 0, number: int = 0
    ) -> None:
        self._last_report += 1
        report = protocol.Report(
            number=self._last_report, what=what, job=job, restart=restart, step=step, code=code, signal=number
        )
        self._reports[report.number] = report
        if self._server is not None:
            self._server.send(report)

    # Jobs -------------------------------------------------------------------------------------------------

    def _over(self, incarnation: Incarnation) -> bool:
        return incarnation in self._ending or incarnation[1] <= self._cleared.get(incarnation[0], -1)

    def _launch(self, launch: protocol.Launch) -> None:
        incarnation = (launch.job, launch.restart)
        if incarnation in self._scripts or self._over(incarnation):
            return
        self._incarnations.add(incarnation)
        started = self._runner.start_script(launch)
        self._script_errors[incarnation] = launch.error
        self._report("batch-started", *incarnation)
        if isinstance(started, Task):
            self._scripts[incarnation] = started
            return
        code, complaint = started
        self._scripts[incarnation] = None
        sys.stderr.write(f"{self._name}: job {launch.job}: {complaint}\n")
        self._report("batch-ended", *incarnation, code=code)

    def _end_job(self, message: EndJob) -> None:
        incarnation = (message.job, message.restart)
        if incarnation in self._ending:
            return
        self._incarnations.add(incarnation)
        left = self._runner.of_job(incarnation)
        if message.note and left:
            self._announce(incarnation, message.note)
        for pid in left:
            command_call.send(pid, signal.SIGCONT)
            command_call.send(pid, signal.SIGTERM)
        self._ending[incarnation] = time.monotonic() + message.grace
        self._clear(incarnation)

    def _announce(self, incarnation: Incarnation, note: str) -> None:
        task = self._scripts.get(incarnation)
        if task is not None:
            line = f"slurmstepd: error: *** JOB {incarnation[0]} ON {self._name} {note} ***\n"
            with contextlib.suppress(OSError):
                flags = os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC
                descriptor = os.open(self._script_errors[incarnation], flags)
                os.write(descriptor, line.encode())
                os.close(descriptor)
        for step in self._steps.values():
            if step.incarnation == incarnation:
                step.say(_step_note(step, self._name, note))

    def _kill_overdue(self, now: float) -> None:
        for incarnation, deadline in list(self._ending.items()):
            if now >= deadline:
                for pid in self._runner.of_job(incarnation):
                    command_call.send(pid, signal.SIGKILL)
            self._clear(incarnation)

    def _clear(self, incarnation: Incarnation) -> None:
        """Report a job as cleared once none of its processes is left on this node."""
        if self._runner.of_job(incarnation) or any(
            s.incarnation == incarnation for s in self._steps.values()
        ):
            return
        if self._scripts.get(incarnation) is not None:
            return
        del self._ending[incarnation]
        self._incarnations.discard(incarnation)
        self._scripts.pop(incarnation, None)
        self._script_errors.pop(incarnation, None)
        job, restart = incarnation
        self._cleared[job] = max(restart, self._cleared.get(job, -1))
        self._refused_steps = {key for key in self._refused_steps if key[:2] != incarnation}
        if not self._incarnations:
            # Without a job on this node, every process left is a stray that hid its descent and environment.
            for pid in process_lookup.descendants(process_lookup.children(os.getpid())):
                command_call.send(pid, signal.SIGKILL)
        self._report("cleared", job, restart)

    def _signal_tasks(self, message: SignalTasks) -> None:
        incarnation = (message.job, message.restart)
        script = self._scripts.get(incarnation)
        if message.batch and script is not None:
            # As in Slurm, ``batch`` alone signals the shell, not the commands that the shell runs.
            (command_call.send_group if message.steps else command_call.send)(script.pid, message.number)
        if not message.steps:
            return
        for step in list(self._steps.values()):
            if step.incarnation == incarnation and message.step in (None, step.launch.step):
                if message.note:
                    step.say(_step_note(step, self._name, message.note))
                self._runner.signal_step(step, message.number)

    # Steps ------------------------------------------------------------------------------------------------

    def _accept(self) -> None:
        with contextlib.suppress(BlockingIOError, ChannelClosedError):
            while True:
                connection, _ = self._listener.accept()
                channel = Channel(connection)
                self._clients[channel] = None
                self._selector.register(channel, selectors.EVENT_READ, self._client_reader(channel))

    def _client_reader(self, channel: Channel) -> Callable[[], None]:
        def readable() -> None:
            try:
                for message in channel.receive():
                    self._from_client(channel, message)
            except ChannelClosedError:
                self._lose_client(channel)

        return readable

    def _lose_client(self, channel: Channel) -> None:
        """Handle the end of a step's srun: as in Slurm, the tasks continue and their output is lost."""
        step = self._clients.pop(channel, None)
        if not channel.closed:
            self._selector.unregister(channel)
            channel.close()
        if step is not None:
            step.channel = None
            self._runner.balance(step)
            self._runner.feed(step, b"")

    def _from_client(self, channel: Channel, message: protocol.AnyMessage) -> None:
        step = self._clients.get(channel)
        if isinstance(message, protocol.LaunchStep) and step is None:
            self._launch_step(channel, message)
        elif isinstance(message, protocol.Input) and step is not None:
            self._runner.feed(step, message.data)
        elif isinstance(message, protocol.SignalStep) and step is not None:
            if message.note:
                step.say(_step_note(step, self._name, message.note))
            self._runner.signal_step(step, message.number)
        elif isinstance(message, protocol.SignalToken):
            if message.number == signal.SIGKILL:
                self._refused_tokens.add(message.token)
            for other in list(self._steps.values()):
                if other.launch.token == message.token:
                    self._runner.signal_step(other, message.number)
            channel.send(protocol.Done())

    def _launch_step(self, channel: Channel, launch: protocol.LaunchStep) -> None:
        key = (launch.job, launch.restart, launch.step)
        refused = key in self._refused_steps or (launch.token and launch.token in self._refused_tokens)
        if refused or key in self._steps or self._over(key[:2]):
            channel.send(protocol.Failed(text="Job credential revoked"))
            self._report("step-ended", *key)
            return
        self._incarnations.add(key[:2])
        step = LocalStep(launch, channel)
        self._clients[channel] = step
        self._steps[key] = step
        self._runner.start_step(step)
        if not step.tasks:
            self._finish_step(step)

    def _finish_step(self, step: LocalStep) -> None:
        """End a step after its last task: kill its other processes and report its end."""
        for pid in self._runner.of_job(step.incarnation, batch=False, step=step.launch.step):
            command_call.send(pid, signal.SIGKILL)
        del self._steps[step.key]
        step.send(protocol.StepDone())
        self._report("step-ended", *step.key, code=step.code)

    # Ends of processes ------------------------------------------------------------------------------------

    def _woken(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while self._wakeup.recv(512):
                pass
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if pid == 0:
                break
            self._reaped(pid, os.waitstatus_to_exitcode(status))
        for incarnation in list(self._ending):
            self._clear(incarnation)

    def _reaped(self, pid: int, result: int) -> None:
        owner = self._runner.owners.pop(pid, None)
        if owner is None:
            return
        task, step, incarnation = owner
        # With a return code, Popen does not wait for this process id, which may soon be reused.
        task.popen.returncode = result
        code, number = max(result, 0), max(-result, 0)
        if step is not None:
            self._runner.ended(task, step, code, number)
            if not step.tasks:
                self._finish_step(step)
        else:
            self._scripts[incarnation] = None
            self._report("batch-ended", *incarnation, code=code, number=number)

    def _flush(self) -> None:
        if self._server is not None:
            try:
                self._server.flush()
                watch_writing(self._selector, self._server)
            except ChannelClosedError:
                self._lose_server()
        for channel, step in list(self._clients.items()):
            try:
                channel.flush()
                watch_writing(self._selector, channel)
            except ChannelClosedError:
                self._lose_client(channel)
            if step is not None:
                self._runner.balance(step)


def _step_note(step: LocalStep, node: str, note: str) -> str:
    return f"slurmstepd: error: *** STEP {step.launch.job}.{step.launch.step} ON {node} {note} ***"


def _claim(cluster: Cluster, name: str) -> None:
    """Take the node's lock for the life of this process. Raises HeldError when another process holds it."""
    directory = cluster.join("nodes", name)
    os.makedirs(directory, mode=0o700, exist_ok=True)  # noqa: PTH103  # pathlib slows each command's start
    takeover_lock.take(os.path.join(directory, "lock"), takeover_lock.owned())  # noqa: PTH118


def _become_node(cluster: Cluster, name: str, limit: int) -> None:
    """Turn this (forked) process into a node; never returns."""
    os.setsid()
    process_lookup.become_subreaper()
    directory = cluster.join("nodes", name)
    storage = os.path.join(directory, "storage")  # noqa: PTH118  # pathlib slows each command's start
    shutil.rmtree(storage, ignore_errors=True)
    os.makedirs(storage, mode=0o700, exist_ok=True)  # noqa: PTH103
    log = os.open(
        os.path.join(directory, "log"),  # noqa: PTH118
        os.O_WRONLY | os.O_CREAT | os.O_APPEND,
        0o600,
    )
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.close(log)
    if limit:
        # Python and the processes it starts ignore SIGXFSZ: a write beyond the limit fails with EFBIG.
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    daemon = NodeDaemon(cluster, name)
    me = process_lookup.look(os.getpid())
    assert me is not None
    path = os.path.join(directory, "pid")  # noqa: PTH118
    file_retry.replace(path, f"{me.pid} {me.started}\n".encode())
    daemon.run()


def main(arguments: list[str]) -> int:
    """Fork one node process for each name in ``arguments``, which begin with the cluster's directory."""
    cluster = Cluster(arguments[0])
    limit = cluster.settings().storage_limit
    gc.collect()
    gc.freeze()
    for name in arguments[1:]:
        if os.fork() == 0:
            # The child process never leaves this block.
            try:
                _claim(cluster, name)
                try:
                    _become_node(cluster, name, limit)
                finally:
                    # After an error, or the cluster's deletion, all processes of the node are killed.
                    process_lookup.crash(cluster.path, name, None)
            except BaseException:
                # Standard error is the node's log.
                traceback.print_exc()
            finally:
                os._exit(1)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
