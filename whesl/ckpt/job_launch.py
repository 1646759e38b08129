"""A program with its coordinator and agents: what ``whesl ckpt run`` starts and ends."""

from __future__ import annotations

import ctypes
import errno
import glob
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from whesl.ckpt import rendezvous
from whesl.ckpt.rank_page import alive
from whesl.model.errors import TransientError, UsageError, WheslError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

START = 120.0  # seconds for the coordinator to listen: a file system may be busy, and nothing runs yet
AGAIN, SELDOM = 0.5, 60.0  # seconds before a coordinator that died twice is started again, and the longest
END = 5.0  # seconds for agents to end
ASKED = 2.0  # seconds for a coordinator of the same name to answer
_PDEATHSIG = 1  # prctl(2)
FORWARDED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)


def page_of(name: str, run: str, node: str) -> Path:
    """Return where a node's page is: in memory, in a directory that is the user's alone.

    Args:
        name: of the job.
        run: of this run of the program: a job that runs again finds no page of its earlier life.
        node: its name; ``%n`` for the form that clients fill in.

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


def remove_earlier(page: Path) -> None:
    """Remove this job's pages of earlier runs on this node; their agents died with it."""
    name, _, rest = page.name.partition(".")
    node = rest.partition(".")[2]
    for other in page.parent.glob(f"{glob.escape(name)}.*.{glob.escape(node)}"):
        if other != page:
            other.unlink(missing_ok=True)


def agents_command(environ: Mapping[str, str], name: str) -> list[str]:
    """Return the command that starts an agent on each node of the allocation.

    Args:
        environ: of this process.
        name: of the job.
    """
    agent = [sys.executable, "-m", "whesl", "ckpt", "agent", "--name", name]
    if environ.get("FLUX_URI") and not environ.get("FLUX_JOB_ID"):  # an instance, perhaps in a job of Slurm
        return ["flux", "exec", "--rank=all", *agent]
    if environ.get("SLURM_JOB_ID"):
        nodes = environ.get("SLURM_JOB_NUM_NODES") or environ.get("SLURM_NNODES") or "1"
        # Beside the program's own steps, on the nodes that they have.
        return ["srun", "--overlap", f"--nodes={nodes}", f"--ntasks={nodes}", "--ntasks-per-node=1", *agent]
    return agent


class Job:
    """A program, its coordinator and its agents.

    Args:
        serve: arguments of ``whesl ckpt serve`` besides the name and the directory.
        name: of the job.
        directory: where checkpoints are.
    """

    def __init__(self, serve: Sequence[str], name: str, directory: Path) -> None:
        self._name, self._directory = name, directory
        self._run = secrets.token_hex(4)
        whesl = [sys.executable, "-m", "whesl", "ckpt"]
        self._serve = [*whesl, "serve", "--name", name, "--dir", str(directory), *serve]
        self._coordinator: subprocess.Popen[bytes] | None = None
        self._agents: subprocess.Popen[bytes] | None = None
        self._program: subprocess.Popen[bytes] | None = None
        self._early: list[int] = []  # signals that came before there was a program

    def run(self, command: Sequence[str]) -> int:
        """Start everything, wait for the program, and end the rest. Signals go to the program.

        Args:
            command: the program, or what launches it.

        Returns:
            The program's exit status, as a shell tells it.

        Raises:
            WheslError: the coordinator does not start. A program runs without agents that do not.
        """
        home = rendezvous.folder(self._name)
        _refuse_second(home, self._name)
        (home / "address").unlink(missing_ok=True)
        environment = {
            **os.environ,
            "WHESL_CKPT_PAGE": str(page_of(self._name, self._run, "%n")),
            "WHESL_CKPT_DIR": str(self._directory),
            "WHESL_CKPT_JOB": self._name,
        }
        for number in FORWARDED:
            signal.signal(number, self._signalled)
        try:
            self._coordinator = subprocess.Popen(self._serve, stdin=subprocess.DEVNULL)
            deadline = time.monotonic() + START
            while rendezvous.find(home) is None:
                self._end_early()
                if self._coordinator.poll() is not None or time.monotonic() > deadline:
                    raise WheslError(
                        "the coordinator of checkpoints does not start", hint="its message is above"
                    )
                time.sleep(0.02)
            start = [*agents_command(os.environ, self._name), "--run", self._run]
            self._agents = subprocess.Popen(start, stdin=subprocess.DEVNULL)
            self._end_early()
            with self._started(command, environment) as program:
                self._watch(program)
            return 128 - program.returncode if program.returncode < 0 else program.returncode
        finally:
            for process in (self._agents, self._coordinator):
                _end(process)

    def _signalled(self, number: int, _frame: object) -> None:
        """Pass a signal on. Before there is a program it is kept: what is being started has no name yet."""
        if self._program is not None:
            self._program.send_signal(number)
        else:
            self._early.append(number)

    def _end_early(self) -> None:
        """End where a signal came before there was a program."""
        if self._early:
            raise SystemExit(128 + self._early[0])

    def _started(self, command: Sequence[str], environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
        try:
            self._program = subprocess.Popen(list(command), env=environment)
        except OSError as error:
            if error.errno != errno.ENOEXEC:
                raise WheslError(f"{command[0]} cannot be started: {error.strerror}") from error
            # A script without a first line of its own: what every shell does with it.
            script = shutil.which(command[0]) or command[0]
            self._program = subprocess.Popen(["/bin/sh", script, *command[1:]], env=environment)
        for number in self._early:
            self._program.send_signal(number)
        return self._program

    def _watch(self, program: subprocess.Popen[bytes]) -> None:
        """Wait for the program; start a coordinator that died again, ever later where it does not live."""
        pause = 0.0
        begun = died = time.monotonic()
        while program.poll() is None:
            assert self._coordinator is not None
            now = time.monotonic()
            if self._coordinator.poll() is None:
                died = now
            elif now - died >= pause:
                pause = 0.0 if now - begun > SELDOM else min(2 * pause or AGAIN, SELDOM)
                self._coordinator = subprocess.Popen(self._serve, stdin=subprocess.DEVNULL)
                begun = died = now
            with suppress(subprocess.TimeoutExpired):
                program.wait(0.2)


def kept_alive(serve: Callable[[], None]) -> int:
    """Do something in a child process, in another one where a signal kills that; return its exit status.

    A node without an agent would keep its whole job from writing checkpoints. Signals to end go to the child,
    which ends with this process.

    Args:
        serve: what is done; it takes SIGTERM and SIGINT itself.
    """
    ends = {signal.SIGTERM, signal.SIGINT}
    child = 0
    stopped = False

    def stop(number: int, _frame: object) -> None:
        nonlocal stopped
        stopped = True
        if child:
            os.kill(child, number)

    for number in ends:
        signal.signal(number, stop)
    while True:
        signal.pthread_sigmask(signal.SIG_BLOCK, ends)
        parent = os.getpid()
        child = os.fork()
        if child == 0:
            _die_with(parent)
            for number in ends:
                signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, ends)
            serve()
            return 0
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ends)
        _, status = os.waitpid(child, 0)
        if stopped or not os.WIFSIGNALED(status):
            return os.waitstatus_to_exitcode(status)
        time.sleep(AGAIN)


def _die_with(parent: int) -> None:
    """Have this process end when another one, which started it, is killed."""
    ctypes.CDLL(None).prctl(_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGTERM)


def _refuse_second(home: Path, name: str) -> None:
    """Raise UsageError when a program of this name runs already: they would take each other's ranks."""
    from whesl.ckpt import control, messages

    address = rendezvous.find(home)
    if address is None or (address.host == os.uname().nodename and not alive(address.pid)):
        return
    with suppress(TransientError):
        control.ask(address, messages.StatusAsked(), ASKED)
        raise UsageError(
            f"a program called {name} runs already, with checkpoints in {address.directory}",
            hint="--name gives this one a name of its own",
        )


def _end(process: subprocess.Popen[bytes] | None) -> None:
    if process is None or process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(END)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
