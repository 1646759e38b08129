"""A Flux instance over the nodes of another resource manager's job: start, recovery and end.

The instance runs as one step of that resource manager, bootstrapped by PMI-2 (flux-start(1)), with rank 0 on
the isolator's node. Its initial program writes files for the launchers
(``launcher_shims.flux_instance_files``) and then waits at a FIFO for the request to end. So the
instance outlives the isolator, and the next isolator finds it.
"""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import select
import shutil
import signal
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

import msgspec
import psutil

from whesl.files import file_retry
from whesl.files.decode_errors import UNDECODABLE
from whesl.managers.resource.launcher_shims.flux_instance_files import START_LIMIT
from whesl.managers.resource.port import Allocation, Step, StepRequest
from whesl.model.errors import RefusedError, WheslError
from whesl.model.event_loop_stall import RunTime

LOG = logging.getLogger(__name__)
# Seconds for an orderly end of the instance; then its step is killed.
END_LIMIT = 4.0
# Seconds from SIGTERM to SIGKILL for the instance's step, which with a lost node does not end by itself.
KILL_LIMIT = 1.0
# Seconds to wait for the last line of the instance's log.
LAST_WORDS = 0.5
_LOOK_EVERY = 0.01
# The most bytes of the temporary directory's path: a broker's socket below it may have 107 (unix(7)).
_LONGEST = 80

# The initial program, run by the broker of rank 0. Brokers that find no PMI become instances of one node
# each, whose programs, and with them the step, end at once.
_PROGRAM = """\
umask 077
cd "$1" && [ "$(flux getattr size)" = "$2" ] || exit 1
flux kvs get resource.R >R || exit 1
IFS=:
for place in $(flux getattr conf.shell_pluginpath 2>/dev/null); do
  [ -e "$place/pmix.so" ] && : >pmix
done
echo "$PPID" >broker
until [ -e mpi ]; do sleep 0.1; done
printf '%s\\n' "$FLUX_URI" >uri.new && mv uri.new uri
read -r _ <end
"""
# Starts a broker that names its node as the resource manager does. Meanwhile task 0 writes Slurm's default
# type of MPI into a file, since brokers pass none of Slurm's variables on. Without an answer it is empty.
_BROKER = """\
if [ "$SLURM_PROCID" = 0 ]; then
  (cd "$1" && timeout 60 scontrol show config | sed -n 's/^MpiDefault *= *//p' >mpi.new && mv mpi.new mpi) &
fi
place=$1
shift
[ "$SLURM_PROCID" = 0 ] || exec flux start -Shostname="$SLURMD_NODENAME" "$@"
# Without its leader there is no instance, but the step goes on as long as any other broker does.
trap : TERM
flux start -Shostname="$SLURMD_NODENAME" "$@"
code=$?
: >"$place/ended"
exit "$code"
"""
_OPTIONS = (
    # All brokers are children of rank 0, so that a lost broker cuts off no others.
    "-Stbon.topo=kary:0",
    # Flux notices a broker's death when it sends something to it, as it does with each heartbeat.
    "--conf=heartbeat.period=0.5s",
    "-Sbroker.shutdown-timeout=2s",
    "-Slog-stderr-level=3",
)


class _Record(msgspec.Struct, frozen=True, kw_only=True):
    """The launcher process of the instance's step, stored for a later isolator."""

    claim: str
    pid: int
    created: float
    rundir: str


class Instance:
    """One Flux instance inside a job.

    Args:
        directory: directory for the instance's files, on a file system that the nodes share.
        outer: the allocation in which the instance runs.
        claim: identifies this start of the job's script; an instance of an earlier start is not reused.
        environ: the job's environment.
    """

    def __init__(self, directory: Path, outer: Allocation, claim: str, environ: Mapping[str, str]) -> None:
        self.directory = directory
        self._outer = outer
        self._claim = claim
        self._environ = dict(environ)
        self._step: Step | None = None
        self._process: psutil.Process | None = None
        self._rundir = ""
        self._ran = RunTime(time.monotonic())

    @property
    def uri(self) -> str:
        """The address of the instance, known before the instance has started."""
        return self._read("uri") or f"local://{self._rundir}/local-0"

    @property
    def ready(self) -> bool:
        """Whether jobs can be submitted to the instance."""
        return not self.failed and bool(self._read("uri"))

    @property
    def failed(self) -> bool:
        """Whether the instance could not start, or has ended. Raises OSError."""
        return file_retry.exists(self.directory / "failed")

    def begin(self) -> None:
        """Find the instance of this claim or start one, without waiting until it is ready.

        Raises RefusedError when the step cannot be started, OSError when the files cannot be written.
        """
        if self._found():
            return
        shutil.rmtree(self.directory, ignore_errors=True)
        self.directory.mkdir(mode=0o700, parents=True)
        os.mkfifo(self.directory / "end", 0o600)
        place = Path(tempfile.gettempdir())
        if len(os.fsencode(place)) > _LONGEST:
            place = Path("/tmp")  # noqa: S108 - the broker makes a private directory there
        self._rundir = str(place / f"whesl-{secrets.token_hex(6)}")
        nodes = self._outer.describe().nodes
        program = ("sh", "-c", _PROGRAM, "whesl-instance", str(self.directory), str(len(nodes)))
        options = (*_OPTIONS, f"-Srundir={self._rundir}")
        log = str(self.directory / "log")
        self._step = self._outer.launch(
            StepRequest(
                command=("sh", "-c", _BROKER, "whesl-broker", str(self.directory), *options, *program),
                nodes=nodes,
                tasks=len(nodes),
                workdir="/",
                output=log,
                error=log,
                pmi="pmi2",
            )
        )
        self._process = psutil.Process(self._step.pid)
        record = _Record(
            claim=self._claim,
            pid=self._step.pid,
            created=self._process.create_time(),
            rundir=self._rundir,
        )
        beside = self.directory / ".step.json"
        beside.write_bytes(msgspec.json.encode(record))
        beside.replace(self.directory / "step.json")

    def _found(self) -> bool:
        try:
            record = msgspec.json.decode((self.directory / "step.json").read_bytes(), type=_Record)
            process = psutil.Process(record.pid)
            alive = process.create_time() == record.created and process.status() != psutil.STATUS_ZOMBIE
        except (OSError, *UNDECODABLE, psutil.Error):
            return False
        if record.claim != self._claim or not alive or self.failed:
            return False
        self._process, self._rundir = process, record.rundir
        return True

    def wait_ready(self) -> str:
        """Wait until the instance is usable; return an empty string, or the reason why it will not be."""
        try:
            return self._wait_ready()
        except OSError as error:
            return f"its files cannot be seen: {file_retry.told(error)}"

    def _wait_ready(self) -> str:
        while not self.ready:
            if self.failed:
                return "it was given up"
            if not self._running() or file_retry.exists(self.directory / "ended"):
                return f"it ended: {self._last_words()}"
            if self._ran.at(time.monotonic()) > START_LIMIT:
                return f"it was not there within {START_LIMIT:g} s; see {self.directory / 'log'}"
            time.sleep(_LOOK_EVERY)
        return ""

    def wait_end(self) -> None:
        """Wait until the instance's step or its leading broker has ended."""
        descriptors = []
        for pid in (self._process.pid if self._process else 0, self._number("broker")):
            if pid:
                try:
                    descriptors.append(os.pidfd_open(pid))
                except OSError:
                    for descriptor in descriptors:
                        os.close(descriptor)
                    return
        waiting = select.poll()
        for descriptor in descriptors:
            waiting.register(descriptor, select.POLLIN)
        if descriptors:
            waiting.poll()
        for descriptor in descriptors:
            os.close(descriptor)

    def give_up(self, reason: str) -> None:
        """Make launchers use the resource manager's own steps from now on, and end the instance."""
        # Launchers watch for this file.
        with contextlib.suppress(OSError):
            file_retry.write(self.directory / "failed", f"{reason}\n".encode())
        # The initial program survives a killed broker, and Slurm would wait for the files that it holds open.
        self._tell()
        self._kill()

    def end(self) -> None:
        """End the instance in an orderly way where possible, else by force; within bounded time."""
        if not self.failed and self._tell():
            leader = self._number("broker")
            deadline = time.monotonic() + END_LIMIT
            while leader and psutil.pid_exists(leader) and time.monotonic() < deadline:
                time.sleep(_LOOK_EVERY)
            # The step ends shortly after its last broker, unless the resource manager waits for a lost node.
            deadline = min(deadline, time.monotonic() + 0.5)
            while self._running() and time.monotonic() < deadline:
                time.sleep(_LOOK_EVERY)
        with contextlib.suppress(OSError):
            file_retry.write(self.directory / "failed", b"it was ended\n")
        self._kill()
        shutil.rmtree(self._rundir, ignore_errors=True)

    def _tell(self) -> bool:
        """Tell the initial program to end; return False when the program does not listen."""
        try:
            end = os.open(self.directory / "end", os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            os.write(end, b"\n")
        except OSError:
            return False
        finally:
            os.close(end)
        return True

    def _running(self) -> bool:
        if self._step is not None:
            return self._step.poll() is None
        try:
            return self._process is not None and self._process.status() != psutil.STATUS_ZOMBIE
        except psutil.Error:
            return False

    def _kill(self) -> None:
        """End the step, first with SIGTERM, so that its launcher can take the nodes' last reports."""
        for signum, patience in ((signal.SIGTERM, KILL_LIMIT), (signal.SIGKILL, 0.5)):
            if not self._running():
                return
            if self._step is not None:
                with contextlib.suppress(WheslError):
                    self._outer.signal(self._step, signum)
            elif self._process is not None:
                # An earlier isolator started the step: its launcher passes the signal on to the brokers.
                with contextlib.suppress(psutil.Error):
                    self._process.send_signal(signum)
            deadline = time.monotonic() + patience
            while self._running() and time.monotonic() < deadline:
                time.sleep(_LOOK_EVERY)

    def _read(self, name: str) -> str:
        try:
            return (self.directory / name).read_text().strip()
        except (OSError, UnicodeDecodeError):
            return ""

    def _number(self, name: str) -> int:
        text = self._read(name)
        return int(text) if text.isascii() and text.isdigit() else 0

    def _last_words(self) -> str:
        """Return the last line of the instance's log, which may arrive a moment after the step's end."""
        deadline = time.monotonic() + LAST_WORDS
        while not (lines := self._read("log").splitlines()) and time.monotonic() < deadline:
            time.sleep(_LOOK_EVERY)
        return lines[-1] if lines else "no reason given"


def find_flux(environ: Mapping[str, str]) -> str | None:
    """Return the ``flux`` command on PATH, None when there is none."""
    return shutil.which("flux", path=environ.get("PATH", os.defpath))


def started(directory: Path, outer: Allocation, claim: str, environ: Mapping[str, str]) -> Instance | str:
    """Begin an instance and return it, or the reason why it cannot run.

    Args:
        directory: directory for the instance's files.
        outer: the allocation in which the instance runs.
        claim: identifies this start of the job's script.
        environ: the job's environment.
    """
    instance = Instance(directory, outer, claim, environ)
    info = outer.describe()
    if info.batch_host != info.nodes[0]:
        return f"{info.batch_host} is not the first of the job's nodes, where its leader would be"
    try:
        instance.begin()
    except (RefusedError, OSError, psutil.Error) as error:
        return str(error)
    return instance
