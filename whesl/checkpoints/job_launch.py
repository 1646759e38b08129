"""Runs a program with its coordinator and agents, for ``whesl ckpt run``."""

from __future__ import annotations

import errno
import math
import os
import secrets
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from whesl.checkpoints import acknowledged_requests_file, directory_lock, rendezvous
from whesl.checkpoints.rank_shared_memory import alive
from whesl.managers import resource
from whesl.managers.resource import job_sidecar_processes
from whesl.managers.resource.command_call import end
from whesl.managers.resource.port import Allocation, Closing
from whesl.model.errors import TransientError, UsageError, WheslError
from whesl.model.states import NodeState

START = 120.0  # seconds until the coordinator has to listen; long, since a file system may be busy
AGAIN, SELDOM = 0.5, 60.0  # seconds before a process that died twice is started again, and the longest
END = 5.0  # seconds for the coordinator and agents to end
ASKED = 2.0  # seconds for a coordinator of the same name to answer
LOST = 30.0  # seconds for a program to end by itself when one of its nodes is lost
_LOOK = 5.0  # seconds between two looks for lost nodes
_GRACE = 30.0  # seconds from SIGTERM to SIGKILL
ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
FORWARDED = (*ENDING, signal.SIGUSR1, signal.SIGUSR2)
_NAMED = 8  # nodes that a line names


def page_of(name: str, run: str, node: str) -> Path:
    """Return the path of a node's page, in a private directory of the user in memory.

    Args:
        name: the job's name.
        run: unique name of this run of the program, so that no page of an earlier run is found.
        node: the node's name; ``%n`` as the placeholder that clients fill in.

    Raises:
        WheslError: the directory is another user's.
    """
    base = Path("/dev/shm")  # noqa: S108  in memory; what is made below it is private
    root = base if os.access(base, os.W_OK) else Path(tempfile.gettempdir())
    private = root / f"whesl-ckpt-{os.geteuid()}"
    private.mkdir(mode=0o700, exist_ok=True)
    status = private.lstat()
    if status.st_uid != os.geteuid() or private.is_symlink() or status.st_mode & 0o077:
        raise WheslError(f"{private} is open to other users, or theirs", hint="remove it")
    return private / f"{name}.{run}.{node}"


def agents_command(
    environ: Mapping[str, str], name: str, nodes: Sequence[str], allocated: Sequence[str]
) -> list[str]:
    """Return the command that starts an agent on nodes of the allocation.

    Args:
        environ: the environment of this process.
        name: the job's name.
        nodes: the live nodes that the program uses.
        allocated: all nodes of the allocation; in Flux in the order of the broker's ranks.
    """
    agent = [sys.executable, "-m", "whesl", "ckpt", "agent", "--name", name]
    return job_sidecar_processes.on_nodes(environ, agent, nodes, allocated)


def living(allocation: Allocation) -> tuple[str, ...]:
    """Return the nodes of an allocation that are neither down nor gone from it, and whose daemon lives.

    Where the resource manager does not answer, all nodes are returned: an unobserved node is not gone.
    """
    nodes = allocation.describe().nodes
    try:
        states = allocation.node_states()
    except WheslError:
        return nodes
    usable = (node for node in nodes if not states.get(node, NodeState.UNKNOWN).unusable)
    return tuple(node for node in usable if allocation.gone(node) is not True)


class Job:
    """Runs a program with its coordinator and its agents.

    Args:
        serve: further arguments of ``whesl ckpt serve``, without the name and the directory.
        name: the job's name.
        directory: directory of the checkpoints.
        log: called with a line of text for each event.
    """

    def __init__(
        self, serve: Sequence[str], name: str, directory: Path, log: Callable[[str], None] = lambda _: None
    ) -> None:
        self._name, self._directory, self._log = name, directory, log
        self._home = rendezvous.folder(name)
        whesl = [sys.executable, "-m", "whesl", "ckpt"]
        self._serve = [*whesl, "serve", "--name", name, "--dir", str(directory), *serve]
        self._allocation: Allocation | None = None
        self._coordinator: Kept | None = None
        self._agents: Kept | None = None
        self._program: subprocess.Popen[bytes] | None = None
        self._early: list[int] = []  # signals that came before the program was started
        self._to_end = False  # whether a signal that ends programs has come
        self._silent: frozenset[str] = frozenset()  # nodes whose agent was silent at an attempt's end

    def run(self, command: Sequence[str], attempts: int = 1, nodes: int = 0, lost: float = LOST) -> int:
        """Start all processes, wait for the program, and end the others. Signals are passed to the program.

        A program that fails is started again on the live nodes, each time from the newest whole checkpoint,
        unless a signal that ends programs has come.

        Args:
            command: the program or its launcher, with arguments.
            attempts: largest number of starts of the program.
            nodes: number of the allocation's nodes that the program uses, others being spares; 0 for all.
            lost: seconds after the loss of a node until a program that has not ended by itself is ended, if
                another attempt is left (a collective would wait for ever, and ``srun --no-kill`` with it).

        Returns:
            The exit status of the last attempt, as a shell reports it.

        Raises:
            WheslError: the coordinator does not start, another program uses the name or the directory, or the
                allocation has too few nodes. The program also runs if agents do not start.
        """
        _refuse_second(self._home, self._name)
        directory_lock.refuse_held(self._directory)
        with suppress(OSError):  # the coordinator reports errors of the directory
            acknowledged_requests_file.end_request(self._home)
        for number in FORWARDED:
            signal.signal(number, self._signalled)
        self._allocation = resource.current_allocation(os.environ)
        try:
            for attempt in range(1, attempts + 1):
                used = self._used(nodes)
                if attempts > 1:
                    self._log(f"attempt {attempt} of {attempts} on {_few(used)}: {shlex.join(command)}")
                status = self._attempt(command, used, lost if attempts > 1 else math.inf)
                if attempts > 1:
                    self._log(f"attempt {attempt} of {attempts} ended with status {status}")
                if status == 0 or self._to_end:
                    break
            return status
        finally:
            if isinstance(self._allocation, Closing):
                self._allocation.close()

    def _used(self, wanted: int) -> tuple[str, ...]:
        """Return the nodes that the next attempt uses: live nodes whose agents were heard."""
        assert self._allocation is not None
        allocated = self._allocation.describe().nodes
        there = living(self._allocation)
        heard = tuple(node for node in there if node not in self._silent)
        for what, nodes in (("down", set(allocated) - set(there)), ("silent", set(there) - set(heard))):
            if nodes:
                self._log(f"{_few(sorted(nodes))} {'is' if len(nodes) == 1 else 'are'} {what}, and not used")
        if len(heard) < max(wanted, 1):
            raise WheslError(
                f"{len(heard)} of the {len(allocated)} nodes of this allocation can be used, and"
                f" {max(wanted, 1)} are needed",
                hint="submit the job again: it goes on from the newest whole checkpoint",
            )
        return heard[:wanted] if wanted else heard

    def _environment(self, used: Sequence[str], run: str) -> dict[str, str]:
        """Return the program's environment, which presents the used nodes as the allocation."""
        assert self._allocation is not None
        environment = dict(os.environ)
        if tuple(used) != self._allocation.describe().nodes:
            environment |= self._allocation.launch_environment(used, os.environ)
        return environment | {
            "WHESL_CKPT_PAGE": str(page_of(self._name, run, "%n")),
            "WHESL_CKPT_DIR": str(self._directory),
            "WHESL_CKPT_JOB": self._name,
        }

    def _attempt(self, command: Sequence[str], used: Sequence[str], lost: float) -> int:
        """Run the program once, with its own coordinator and agents; return its exit status."""
        assert self._allocation is not None
        run = secrets.token_hex(4)
        environment = self._environment(used, run)
        (self._home / "address").unlink(missing_ok=True)
        allocated = self._allocation.describe().nodes
        try:
            self._coordinator = Kept(lambda: self._serve)
            deadline = time.monotonic() + START
            while rendezvous.find(self._home) is None:
                self._end_early()
                if self._coordinator.ended or time.monotonic() > deadline:
                    raise WheslError(
                        "the coordinator of checkpoints does not start", hint="its message is above"
                    )
                time.sleep(0.02)

            def agents() -> list[str]:
                assert self._allocation is not None
                there = [node for node in living(self._allocation) if node in used]
                return [
                    *agents_command(os.environ, self._name, there or used, allocated),
                    "--run",
                    run,
                ]

            self._agents = Kept(agents)
            self._end_early()
            with self._started(command, environment) as program:
                self._watch(program, used, lost)
            status = 128 - program.returncode if program.returncode < 0 else program.returncode
            self._silent = self._end_rest(ask=status != 0)
            return status
        finally:
            self._program = None
            for kept in (self._agents, self._coordinator):
                if kept is not None:
                    kept.end()

    def _end_rest(self, *, ask: bool) -> frozenset[str]:
        """Ask the coordinator and the agents to end; return nodes whose agents are silent."""
        from whesl.checkpoints import control, messages

        address = rendezvous.find(self._home)
        if address is None:
            return frozenset()
        silent: frozenset[str] = frozenset()
        with suppress(TransientError):
            if ask:
                silent = _silent(address)
            control.ask(address, messages.Stop(), ASKED)
            until = time.monotonic() + END
            while time.monotonic() < until and not all(
                kept is None or kept.ended for kept in (self._agents, self._coordinator)
            ):
                time.sleep(0.02)
        return silent

    def _lost(self, used: Sequence[str]) -> tuple[str, ...]:
        """Return the nodes whose agents are silent and that the resource manager also reports as lost."""
        address = rendezvous.find(self._home)
        if address is None:
            return ()
        silent: frozenset[str] = frozenset()
        with suppress(TransientError):
            silent = _silent(address)
        if not silent & set(used):
            return ()
        assert self._allocation is not None
        there = living(self._allocation)
        return tuple(node for node in used if node in silent and node not in there)

    def _signalled(self, number: int, _frame: object) -> None:
        """Pass a signal on to the program; keep a signal that comes before the program is started."""
        self._to_end |= number in ENDING
        if self._program is not None:
            self._program.send_signal(number)
        else:
            self._early.append(number)

    def _end_early(self) -> None:
        """Exit if a signal came before the program was started."""
        if self._early:
            raise SystemExit(128 + self._early[0])

    def _started(self, command: Sequence[str], environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
        try:
            self._program = subprocess.Popen(list(command), env=environment)
        except OSError as error:
            if error.errno != errno.ENOEXEC:
                raise WheslError(f"{command[0]} cannot be started: {error.strerror}") from error
            # A script without a #! line is run by /bin/sh, as shells do.
            script = shutil.which(command[0]) or command[0]
            self._program = subprocess.Popen(["/bin/sh", script, *command[1:]], env=environment)
        for number in self._early:
            self._program.send_signal(number)
        return self._program

    def _watch(self, program: subprocess.Popen[bytes], used: Sequence[str], lost: float) -> None:
        """Wait for the program; restart the coordinator or agents when they end.

        Args:
            program: the program's process.
            used: the program's nodes.
            lost: seconds after the loss of a node until the program is ended.
        """
        look, since = time.monotonic() + _LOOK, math.inf
        while program.poll() is None:
            now = time.monotonic()
            if lost < math.inf and now >= look:
                look = now + min(_LOOK, lost)
                gone = self._lost(used)
                since = min(since, now) if gone else math.inf
                if now - since >= lost:
                    self._log(f"{_few(gone)} lost, and the program has not ended in {lost:g} s: it is ended")
                    end(program, _GRACE)
                    return
            for kept in (self._coordinator, self._agents):
                if kept is not None:
                    kept.look()
            with suppress(subprocess.TimeoutExpired):
                program.wait(0.2)


class Kept:
    """A process that is restarted when it ends, after growing pauses if it ends soon.

    Args:
        command: returns the process's command, for each start.
    """

    def __init__(self, command: Callable[[], Sequence[str]]) -> None:
        self._command = command
        self._process = subprocess.Popen(list(command()), stdin=subprocess.DEVNULL)
        self._begun = self._died = time.monotonic()
        self._pause = 0.0

    @property
    def ended(self) -> bool:
        """Whether the process has ended."""
        return self._process.poll() is not None

    def look(self) -> None:
        """Restart the process if it has ended and its pause is over."""
        now = time.monotonic()
        if not self.ended:
            self._died = now
        elif now - self._died >= self._pause:
            self._pause = 0.0 if now - self._begun > SELDOM else min(2 * self._pause or AGAIN, SELDOM)
            self._process = subprocess.Popen(list(self._command()), stdin=subprocess.DEVNULL)
            self._begun = self._died = now

    def end(self) -> None:
        """End the process, if it runs."""
        if self.ended:
            return
        end(self._process, END)


def _refuse_second(home: Path, name: str) -> None:
    """Raise UsageError when a program of this name runs already, since both would mix their ranks."""
    from whesl.checkpoints import control, messages

    address = rendezvous.find(home)
    if address is None or (address.host == os.uname().nodename and not alive(address.pid)):
        return
    with suppress(TransientError):
        control.ask(address, messages.StatusAsked(), ASKED)
        raise UsageError(
            f"a program called {name} runs already, with checkpoints in {address.directory}",
            hint="--name gives this one a name of its own",
        )


def _silent(address: rendezvous.Address) -> frozenset[str]:
    """Return the nodes whose agents are silent. Raises TransientError where the coordinator is silent."""
    from whesl.checkpoints import control, messages

    status = control.ask(address, messages.StatusAsked(), ASKED).status
    return frozenset(str(node) for node in _list(status.get("silent")))


def _few(nodes: Sequence[str]) -> str:
    """Return a text that names a few nodes, or gives the number of many."""
    return ", ".join(nodes) if len(nodes) <= _NAMED else f"{len(nodes)} nodes"


def _list(found: object) -> list[object]:
    return found if isinstance(found, list) else []
