"""A throw-away real Flux instance of several nodes on one host, for tests.

Started by root, every broker lives in its own PID, mount and UTS namespace: it has the node's name, and a
node's whole life can be taken at once, as the namespace's init takes the broker, the job shells and the
application with it. Nested instances (``flux batch``) have their brokers on these nodes too. Started by
anybody else, brokers are plain processes that only claim the nodes' names (``flux start --test-hosts``);
shells on a "node" then see the machine's own name, and killing a node means killing the broker and all below.

Brokers die with the thread that started the bed (``PR_SET_PDEATHSIG``), so a killed test session leaves none
behind. ``flux start``: man page flux-start(1), "TEST MODE".
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

import psutil

from tests.equipment.cluster_bed import Bed
from whesl.model.errors import WheslError
from whesl.testing.processes import running

# A node's first process: an init that reaps. No commas: ``--wrap`` takes a list separated by them.
_INIT = """\
mount -t proc proc /proc; hostname "$(printf "$1" $((PMI_RANK + 1)))"; shift; "$@"; exit $?
"""
# What a broker loads at its start. `flux modprobe rc1` is a program in Python, which takes a node as long as
# all else; behind the first node it loads these modules in Flux 0.88. Where one is not there, it is called.
_LOAD = """\
test "$(flux getattr rank)" = 0 && exec flux modprobe rc1
loaded=
for module in content kvs kvs-watch job-info heartbeat job-ingest resource; do
  flux module load "$module" || {
    for one in $loaded; do flux module remove "$one"; done
    exec flux modprobe rc1
  }
  loaded="$module $loaded"
done
"""
# The instance's initial program keeps it up, and tells the environment that a batch script has.
_PROGRAM = 'env -0 > "$1.new" && mv "$1.new" "$1"; while :; do sleep 3600; done'
_OUTER = ("FLUX_", "SLURM", "SBATCH", "SALLOC", "PMI", "WHESL")


# In front of the real ``flux``: what it runs in Python finds no cffi, as after a site's upgrade of Python.
# The brokers' own parts in Python are not started through it, and go on.


class FluxBedError(WheslError):
    """The test instance could not be started or did not do what it was told; its log says why."""


def missing() -> list[str]:
    """Return what is needed for a bed and is not installed."""
    return [name for name in ("flux", "setpriv", "unshare") if shutil.which(name) is None]


class FluxBed(Bed):
    """One instance; a context manager.

    Args:
        nodes: how many nodes, named n01, n02, ... (``prefix`` instead of ``n``) in the order of their ranks.
        cores: cores that each node claims to have; this machine's by default. With more than the machine
            has, job shells complain of it on standard error (``-o cpu-affinity=off`` silences them).
        named: False makes them brokers of this one machine, which all have its name and no namespaces.
        attributes: more broker attributes; one given here replaces the default.
        configuration: more TOML text for the brokers' configuration. Flux sees a dead broker when it next
            sends it something, which is a heartbeat at the latest: ``[heartbeat]`` with ``period = "0.1s"``
            makes that quick, where nothing else is sent.
        directory: where everything lives; a fresh temporary directory by default, removed at the end.
    """

    error = FluxBedError

    def __init__(
        self,
        nodes: int = 4,
        *,
        cores: int | None = None,
        prefix: str = "n",
        named: bool = True,
        attributes: Mapping[str, str] | None = None,
        configuration: str = "",
        directory: Path | None = None,
    ) -> None:
        self.nodes = tuple(f"{prefix}{number:02d}" for number in range(1, nodes + 1))
        self.namespaces = named and os.geteuid() == 0
        self._named = named
        # A Unix socket's path has to stay below 92 bytes, so pytest's long directories will not do.
        super().__init__(directory or Path(tempfile.mkdtemp(prefix="whesl-flux-")))
        self._prefix = prefix
        self._cores = cores or os.cpu_count() or 1
        self._attributes = {
            # No node routes for another one, so a dead node takes nobody with it but itself.
            "tbon.topo": "kary:0",
            "tbon.interface-hint": "lo",
            "log-filename": str(self.directory / "broker.log"),
            "broker.rc1_path": f"sh {self.directory / 'load.sh'}",
            **(attributes or {}),
        }
        self._configuration = configuration
        self._start: subprocess.Popen[bytes] | None = None
        self._dead: set[str] = set()

    # Life -------------------------------------------------------------------------------------------

    def start(self, timeout: float = 60.0) -> None:
        """Start the instance and return when all nodes are online. Raises FluxBedError."""
        if lacking := missing():
            raise FluxBedError(f"not installed: {', '.join(lacking)}")
        (self.directory / "run").mkdir(parents=True)
        configuration = self.directory / "bed.toml"
        names = f"{self._prefix}[{self.nodes[0][len(self._prefix) :]}-{self.nodes[-1][len(self._prefix) :]}]"
        resources = f'[resource]\nnoverify = true\n\n[[resource.config]]\nhosts = "{names}"\n'
        resources += f'cores = "0-{self._cores - 1}"\n\n'
        configuration.write_text((resources if self._named else "") + f"{self._configuration}\n")
        (self.directory / "load.sh").write_text(_LOAD)
        wrap = ["setpriv", "--pdeathsig", "KILL"]
        if self.namespaces:
            init = self.directory / "init.sh"
            init.write_text(_INIT)
            wrap += ["unshare", "--pid", "--mount", "--uts", "--fork", "--kill-child=KILL"]
            wrap += ["sh", str(init), f"{self._prefix}%02d"]
        command = [
            "setpriv",
            "--pdeathsig",
            "KILL",
            "flux",
            "start",
            f"--test-size={len(self.nodes)}",
            f"--test-rundir={self.directory / 'run'}",
            # As on real nodes, brokers talk over TCP, nested ones too.
            "--test-pmi-clique=per-broker",
            # A dead node must not end the rest after a while.
            "--test-exit-mode=leader",
            f"--config-path={configuration}",
            f"--wrap={','.join(wrap)}",
            *([f"--test-hosts={names}"] if self._named and not self.namespaces else []),
            *(f"--setattr={name}={value}" for name, value in self._attributes.items()),
            "sh",
            "-c",
            _PROGRAM,
            "program",
            str(self._told),
        ]
        with (self.directory / "start.out").open("ab") as log:
            self._start = subprocess.Popen(
                command,
                # The broker's bash, on a socket, takes itself for a remote shell and reads ~/.bashrc: what a
                # person keeps there (and waits for) is not part of the bed.
                env={k: v for k, v in os.environ.items() if not k.startswith(_OUTER)}
                | {"HOME": str(self.directory)},
                cwd=self.directory,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.wait_for(self._told.exists, "all brokers online", timeout)

    def stop(self) -> None:
        """End every process of the instance and remove its directory."""
        if self._start is not None:
            for node in reversed(self.nodes):
                with contextlib.suppress(FluxBedError, psutil.NoSuchProcess):
                    self.kill_node(node)
            with contextlib.suppress(ProcessLookupError):
                self._start.kill()
            self._start.wait()
            self._start = None
        shutil.rmtree(self.directory, ignore_errors=True)

    # Use --------------------------------------------------------------------------------------------

    @property
    def _told(self) -> Path:
        return self.directory / "environment"

    @property
    def uri(self) -> str:
        """The URI of the broker on the first node."""
        return self.uri_of(self.nodes[0])

    def uri_of(self, node: str) -> str:
        """Return the URI of a node's broker."""
        return f"local://{self.directory}/run/local-{self.nodes.index(node)}"

    @property
    def environment(self) -> dict[str, str]:
        """The environment of a program that the instance itself has started on its first node."""
        entries = self._told.read_text().split("\0")
        return dict(entry.split("=", 1) for entry in entries if "=" in entry)

    @property
    def outside(self) -> dict[str, str]:
        """The environment of a login node: Flux's commands reach the instance, and no job is around."""
        outer = {k: v for k, v in os.environ.items() if not k.startswith(_OUTER)}
        return {**outer, "FLUX_URI": self.uri}

    def batch(self, script: str, *options: str) -> str:
        """Submit a script's text with flux batch options and return the job's id. Raises FluxBedError."""
        path = self.script(script)
        # The brokers of the job read start files too.
        home = str(self.directory)
        result = self.run("flux", "batch", "--output=/dev/null", *options, str(path), HOME=home)
        if result.returncode != 0:
            raise FluxBedError(f"flux batch: {result.stderr}")
        return result.stdout.strip()

    def nested(self, nodes: int, *options: str, timeout: float = 60.0) -> dict[str, str]:
        """Start a batch job whose instance stays up, and return the environment that its script has."""
        told = self.directory / f"nested-{secrets.token_hex(4)}"
        program = f"set -- {shlex.quote(str(told))}; {_PROGRAM}"
        survive = ("--setopt=exit-timeout=none", "--broker-opts=-Stbon.topo=kary:0")
        job_id = self.batch(program, f"--nodes={nodes}", "--exclusive", *survive, *options)
        self.wait_for(told.exists, f"the instance of job {job_id} is up", timeout)
        entries = told.read_text().split("\0")
        return dict(entry.split("=", 1) for entry in entries if "=" in entry)

    def _trouble(self) -> str:
        ended = self._start is None or self._start.poll() is not None
        return f"the instance ended\n{self.log()}" if ended else ""

    def log(self) -> str:
        """Return the end of what flux start and the brokers wrote."""
        files = (self.directory / name for name in ("start.out", "broker.log"))
        return "\n".join(file.read_text(errors="replace")[-3000:] for file in files if file.exists())

    # Faults -----------------------------------------------------------------------------------------

    def kill_node(self, node: str) -> None:
        """Crash a node: every process on it dies at once. Returns when they are gone."""
        if node in self._dead:
            return
        first = self._first(node)
        rest = [] if self.namespaces else self._strays(node)
        self._dead.add(node)
        doomed = [first, *first.children(recursive=True), *rest]
        for process in doomed:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
            if self.namespaces:
                break  # the kernel takes everything else in the namespace with its init
        _, alive = psutil.wait_procs(doomed, timeout=120)
        if left := [p for p in alive if p.is_running() and p.status() != psutil.STATUS_ZOMBIE]:
            raise FluxBedError(f"processes of {node} do not die: {left}")

    def kill_broker(self, node: str) -> None:
        """Kill only the node's broker of this instance; what runs on the node lives on."""
        broker = self.broker(node)
        broker.kill()
        psutil.wait_procs([broker], timeout=120)

    def freeze(self, node: str) -> None:
        """Stop a node in its tracks: it lives and does not answer."""
        for process in [self._first(node), *self.processes(node)]:
            process.send_signal(signal.SIGSTOP)

    def thaw(self, node: str) -> None:
        """Let a frozen node go on."""
        for process in [self._first(node), *self.processes(node)]:
            process.send_signal(signal.SIGCONT)

    def processes(self, node: str) -> list[psutil.Process]:
        """Return the processes of a node, without its init; none for a dead one."""
        if node in self._dead:
            return []
        first = self._first(node)
        below = first.children(recursive=True)
        return below if self.namespaces else [first, *below]

    def broker(self, node: str) -> psutil.Process:
        """Return the process of the node's broker of this instance. Raises FluxBedError."""
        first = self._first(node)
        for process in [first, *first.children()]:
            with contextlib.suppress(psutil.NoSuchProcess):
                if any("flux-broker" in word for word in process.cmdline()[:1]):
                    return process
        raise FluxBedError(f"node {node} has no broker")

    # Parts ------------------------------------------------------------------------------------------

    def _first(self, node: str) -> psutil.Process:
        """Return a node's init, or its broker where it has no namespace."""
        if self._start is None or node in self._dead:
            raise FluxBedError(f"node {node} is not running")
        rank = str(self.nodes.index(node))
        for process in psutil.Process(self._start.pid).children():
            with contextlib.suppress(psutil.NoSuchProcess):
                if process.environ().get("PMI_RANK") != rank:
                    continue
                if not self.namespaces:
                    return process
                if below := process.children():
                    return below[0]
        raise FluxBedError(f"node {node} is not running")

    def _strays(self, node: str) -> list[psutil.Process]:
        """Return processes that left a broker's descent, found by the broker that they were told of."""
        found = []
        for process in running():
            with contextlib.suppress(psutil.Error):  # ended meanwhile, or another user's
                if process.environ().get("FLUX_URI") == self.uri_of(node):
                    found.append(process)
        return found
