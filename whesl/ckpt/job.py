"""A program with its coordinator and agents: what ``whesl ckpt run`` starts and ends."""

from __future__ import annotations

import glob
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from whesl.ckpt import rendezvous
from whesl.ckpt.page import alive
from whesl.model.errors import TransientError, UsageError, WheslError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

START = 20.0  # seconds for the coordinator to listen
END = 5.0  # seconds for agents to end
ASKED = 2.0  # seconds for a coordinator of the same name to answer


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

    def run(self, command: Sequence[str]) -> int:
        """Start everything, wait for the program, and end the rest.

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
        try:
            self._coordinator = subprocess.Popen(self._serve, stdin=subprocess.DEVNULL)
            deadline = time.monotonic() + START
            while rendezvous.find(home) is None:
                if self._coordinator.poll() is not None or time.monotonic() > deadline:
                    raise WheslError(
                        "the coordinator of checkpoints does not start", hint="its message is above"
                    )
                time.sleep(0.02)
            start = [*agents_command(os.environ, self._name), "--run", self._run]
            self._agents = subprocess.Popen(start, stdin=subprocess.DEVNULL)
            with subprocess.Popen(list(command), env=environment) as program:
                for number in (signal.SIGTERM, signal.SIGINT):
                    signal.signal(number, lambda got, _frame: program.send_signal(got))
                self._watch(program)
            return 128 - program.returncode if program.returncode < 0 else program.returncode
        finally:
            for process in (self._agents, self._coordinator):
                _end(process)

    def _watch(self, program: subprocess.Popen[bytes]) -> None:
        """Wait for the program; start the coordinator again where it dies."""
        while program.poll() is None:
            assert self._coordinator is not None
            if self._coordinator.poll() is not None:
                self._coordinator = subprocess.Popen(self._serve, stdin=subprocess.DEVNULL)
            with suppress(subprocess.TimeoutExpired):
                program.wait(0.2)


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
