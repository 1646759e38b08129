"""A throw-away real Slurm cluster of several nodes on one host, for tests.

Every node is a slurmd in its own PID, mount and UTS namespace (mode ``pid``), with its own network too (mode
``net``), or just a process (mode ``host``). With namespaces a node's whole life can be taken at once: slurmd,
slurmstepd and the application die together, and so does the node-local storage. Needs root.

Daemons die with the thread that started them (``PR_SET_PDEATHSIG``), so a killed test session leaves none
behind.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import psutil

from tests.equipment.cluster_bed import Bed
from tests.equipment.free_ports import free_ports
from tests.equipment.install_slurm import PATH, SlurmBedError, missing, prefix
from tests.equipment.slurmnet import OPEN_MPI, NodeNetwork
from tests.processes import send
from whesl.managers.resource.slurm.releases import Release, release
from whesl.testing.processes import running

Mode = Literal["pid", "net", "host"]

_DBD_PASSWORD = "bed"
# The first process of a node: an init that reaps, so that orphans do not stay as zombies, and that outlives
# slurmd. A job that was submitted without an environment finds Slurm where the system has it: the one that is
# tested has to be there too.
_INIT = """\
mount -t proc proc /proc; hostname "$1"; mount -t tmpfs -o size=64m,mode=1777 tmpfs "$2"
for one in ${3:+"$3"/bin/*}; do
  there=/usr/bin/${one##*/}
  [ ! -e "$there" ] || [ "$there" -ef "$one" ] || mount --bind "$one" "$there"
done
shift 3
"$@" & while :; do wait; sleep 0.2; done
"""


class SlurmBed(Bed):
    """One cluster; a context manager.

    Args:
        nodes: how many nodes, named n01, n02, ...; or their names, in the order of slurm.conf.
        mode: what a node is made of (module docstring). ``cut`` needs ``net``; ``kill_node`` is a crash of
            the whole node except in ``host``, where only slurmd dies.
        cpus: CPUs that each node claims to have.
        slurmd_timeout: seconds until slurmctld declares a silent node down, at least the release's own least.
        dbd: with accounting (slurmdbd and MariaDB).
        settings: more lines of slurm.conf; a key given here replaces the default's line.
        more: whole lines of slurm.conf, with ``{port}`` for a free port, in order of their coming.
        directory: where everything lives; a fresh temporary directory by default, removed at the end.
    """

    error = SlurmBedError

    def __init__(
        self,
        nodes: int | Sequence[str] = 4,
        mode: Mode = "pid",
        *,
        cpus: int = 2,
        slurmd_timeout: int = 10,
        dbd: bool = False,
        settings: Mapping[str, str] | None = None,
        more: Sequence[str] = (),
        directory: Path | None = None,
    ) -> None:
        self.mode: Mode = mode
        if isinstance(nodes, int):
            nodes = [f"n{number:02d}" for number in range(1, nodes + 1)]
        self.nodes = tuple(nodes)
        self._cpus = cpus
        self._slurmd_timeout = slurmd_timeout
        self._dbd = dbd
        self._settings = dict(settings or {})
        self._more = tuple(more)
        # A Unix socket's path has to stay below 108 bytes, so pytest's long directories will not do.
        super().__init__(directory or Path(tempfile.mkdtemp(prefix="whesl-slurm-")))
        self.conf = self.directory / "etc" / "slurm.conf"
        # Node-local storage: the same path, another file system on each node.
        self.local = self.directory / "local"
        self._socket = self.directory / "run" / "munge.socket"
        self._daemons: dict[str, subprocess.Popen[bytes]] = {}
        self._host = socket.gethostname().split(".")[0]
        self._ports, self._claims = free_ports(3 + len(self.nodes) + len(self._more))
        self.tag = secrets.token_hex(3)  # in the names of its network devices
        self._network = NodeNetwork(self.tag, self.nodes)

    # Life -------------------------------------------------------------------------------------------

    def start(self, timeout: float = 60.0) -> None:
        """Start the cluster and return when all nodes are idle. Raises SlurmBedError."""
        if os.geteuid() != 0:
            raise SlurmBedError("a Slurm test cluster has to be started by root")
        if lacking := missing():
            raise SlurmBedError(f"not installed: {', '.join(lacking)}")
        self.directory.chmod(0o755)
        for name in ("etc", "run", "log", "state", "local", *(f"spool/{node}" for node in self.nodes)):
            (self.directory / name).mkdir(parents=True, exist_ok=True)
        if self.mode == "net":
            self._network.up()
        self._write_configuration()
        self._start_munge()
        if self._dbd:
            self._start_accounting()
        self._spawn("slurmctld", ["slurmctld", "-D", "-c", "-f", str(self.conf)])
        for node in self.nodes:
            self.start_node(node)
        settings = ("scontrol", "show", "config")
        self.wait_for(lambda: self.run(*settings).returncode == 0, "slurmctld answers", timeout)
        if "MULTIPLE_SLURMD" not in self.run(*settings).stdout:
            # Munge takes a credential once on a host, and later nodes refuse the step.
            raise SlurmBedError("this Slurm was built without --enable-multiple-slurmd")
        self.wait_for(lambda: self.states().count("idle") == len(self.nodes), "all nodes idle", timeout)

    def stop(self) -> None:
        """End every process, mount and network of the cluster and remove its directory."""
        # The last one first; whatever fails, the others are ended, and no network is left to other clusters.
        with contextlib.ExitStack() as ending:
            for claim in self._claims:
                ending.callback(claim.close)
            ending.callback(shutil.rmtree, self.directory, ignore_errors=True)
            ending.callback(self._network.down)
            if self.mode == "host":
                ending.callback(self._kill_orphans)
            for name in ("munged", "mariadbd", "slurmdbd", "slurmctld"):
                ending.callback(self._end, name)
            for node in reversed(self.nodes):
                ending.callback(self.kill_node, node)
            if "slurmctld" in self._daemons:
                ending.callback(self.resume_controller)

    # Use --------------------------------------------------------------------------------------------

    @property
    def outside(self) -> dict[str, str]:
        """The same as ``environment``."""
        return self.environment

    @property
    def environment(self) -> dict[str, str]:
        """The environment that makes Slurm's commands talk to this cluster (and to no enclosing job)."""
        foreign = ("SLURM", "SBATCH", "SALLOC", "WHESL")
        outer = {k: v for k, v in os.environ.items() if not k.startswith(foreign)}
        own = {"SLURM_CONF": str(self.conf), "PATH": PATH, "TMPDIR": str(self.local)}
        return {**outer, **({} if self.mode == "net" else OPEN_MPI), **own}

    @property
    def address(self) -> str:
        """The login node's address in the nodes' network."""
        return f"{self._network.subnet}.254" if self._network.subnet else "127.0.0.1"

    @property
    def release(self) -> Release:
        """The release of Slurm that is tested. Raises SlurmBedError where slurmctld does not say it."""
        if found := release(self.run("slurmctld", "-V").stdout):
            return found
        raise SlurmBedError("slurmctld -V names no release")

    def pid(self, name: str) -> int:
        """Return the process id of a daemon (``slurmctld``, ``munged``, ...)."""
        return self._daemons[name].pid

    def submit(self, script: str, *options: str) -> str:
        """Submit a batch script's text with sbatch options and return the job's id. Raises SlurmBedError."""
        path = self.script(script)
        result = self.run("sbatch", "--parsable", "--output=/dev/null", *options, str(path))
        if result.returncode != 0:
            raise SlurmBedError(f"sbatch: {result.stderr}")
        return result.stdout.strip()

    def job(self, job_id: str, form: str = "%T") -> str:
        """Return squeue's word on a job (``form`` as for ``squeue -o``), empty when it is not known."""
        return self.run("squeue", "-h", "-t", "all", "-j", job_id, "-o", form).stdout.strip()

    def states(self) -> list[str]:
        """Return the nodes' states in order, as sinfo prints them."""
        return self.run("sinfo", "-h", "-N", "-p", "main", "-o", "%T").stdout.split()

    def wait_job(self, job_id: str, *states: str, timeout: float = 60.0) -> str:
        """Wait until a job is in one of the states and return it. Raises SlurmBedError."""
        self.wait_for(lambda: self.job(job_id) in states, f"job {job_id} in {states}", timeout)
        return self.job(job_id)

    def _trouble(self) -> str:
        ended = [name for name, daemon in self._daemons.items() if daemon.poll() is not None]
        return f"{ended[0]} ended\n{self.log(ended[0])}" if ended else ""

    def log(self, name: str = "slurmctld") -> str:
        """Return the end of what a daemon (or ``slurmd.n01``) wrote."""
        files = (self.directory / "log" / f"{name}.{kind}" for kind in ("out", "log"))
        return "\n".join(file.read_text(errors="replace")[-3000:] for file in files if file.exists())

    # Faults -----------------------------------------------------------------------------------------

    def start_node(self, node: str) -> None:
        """Start a node that is not running."""
        slurmd = ["slurmd", "-D", "-f", str(self.conf), "-N", node]
        if self.mode == "host":
            self._spawn(f"slurmd.{node}", slurmd)
            return
        enter = ["nsenter", f"--net=/run/netns/{self._network.space(node)}"] if self.mode == "net" else []
        unshare = ["unshare", "--pid", "--mount", "--uts", "--fork", "--kill-child=KILL"]
        init = ["sh", "-c", _INIT, "init", node, str(self.local), str(prefix() or "")]
        self._spawn(f"slurmd.{node}", [*enter, *unshare, *init, *slurmd])

    def kill_node(self, node: str) -> None:
        """Crash a node: every process on it dies at once. Returns when they are gone."""
        again = self._daemons.pop(f"again.{node}", None)
        daemon = self._daemons.pop(f"slurmd.{node}", None)
        if daemon is None:
            return
        # The namespace's init dies first: its parent, unshare, then reaps it, and leaves no zombie to PID 1.
        with contextlib.suppress(psutil.NoSuchProcess):
            for init in psutil.Process(daemon.pid).children() if self.mode != "host" else ():
                init.kill()
        if self.mode == "host":
            daemon.kill()
        for process in filter(None, (daemon, again)):
            _await_end(process)

    def kill_slurmd(self, node: str) -> None:
        """Kill only slurmd: slurmstepd and the application on the node live on."""
        # One that was started again is nobody's child in the node's namespace.
        again = self._daemons.pop(f"again.{node}", None)
        entered = psutil.Process(again.pid).children() if again is not None and again.poll() is None else []
        for process in (*self._init(node).children(), *entered):
            with contextlib.suppress(psutil.NoSuchProcess):
                if process.name() == "slurmd":
                    process.kill()
                    psutil.wait_procs([process], timeout=120)
        if again is not None:
            again.kill()
            again.wait()

    def restart_slurmd(self, node: str) -> None:
        """Start slurmd again inside a living node."""
        enter = ["nsenter", f"--target={self._init(node).pid}", "--pid", "--mount", "--uts"]
        if self.mode == "net":
            enter.append("--net")
        self._spawn(f"again.{node}", [*enter, "slurmd", "-D", "-f", str(self.conf), "-N", node])

    def init(self, node: str) -> int:
        """Return the process id of a node's first process (modes ``pid`` and ``net``)."""
        return self._init(node).pid

    def processes(self, node: str) -> list[psutil.Process]:
        """Return the processes of a node (modes ``pid`` and ``net``), without its init."""
        return self._init(node).children(recursive=True)

    def cut(self, node: str) -> None:
        """Cut a node's network (mode ``net``)."""
        self._network.cut(node)

    def heal(self, node: str) -> None:
        """Reconnect a node's network."""
        self._network.heal(node)

    def drop(self, node: str) -> None:
        """Drop what a node sends to the login node, slurmctld included (mode ``net``): nothing refuses."""
        self._network.drop(node)

    def pass_on(self, node: str) -> None:
        """Drop them no more."""
        self._network.pass_on(node)

    def end_controller(self) -> None:
        """End slurmctld in order, so that it writes down what it knows: killed, it forgets jobs' ends."""
        self._end("slurmctld")

    def restart_controller(self) -> None:
        """Start slurmctld again from what it wrote down."""
        self._spawn("slurmctld", ["slurmctld", "-D", "-f", str(self.conf)])

    def pause_controller(self) -> None:
        """Stop slurmctld in its tracks: commands get no answer."""
        self._daemons["slurmctld"].send_signal(signal.SIGSTOP)

    def resume_controller(self) -> None:
        """Let slurmctld continue."""
        self._daemons["slurmctld"].send_signal(signal.SIGCONT)

    # Parts ------------------------------------------------------------------------------------------

    def _spawn(self, name: str, command: Sequence[str]) -> None:
        with (self.directory / "log" / f"{name}.out").open("ab") as log:
            self._daemons[name] = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", *command],
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def _end(self, name: str) -> None:
        if daemon := self._daemons.pop(name, None):
            daemon.terminate()
            _await_end(daemon)

    def _init(self, node: str) -> psutil.Process:
        children = psutil.Process(self._daemons[f"slurmd.{node}"].pid).children()
        if len(children) != 1:
            raise SlurmBedError(f"node {node} has no namespace of its own (mode {self.mode})")
        return children[0]

    def _kill_orphans(self) -> None:
        """Kill what outlived slurmd in mode ``host``, where no namespace ties it to this cluster."""
        deadline = time.monotonic() + 10
        # A step may start another process while it is being killed.
        while (found := self.living()) and time.monotonic() < deadline:
            for process in found:
                send(process, signal.SIGKILL)

    def living(self) -> list[psutil.Process]:
        """Return all processes that belong to this cluster: by their environment, or by an open file of it.

        slurmstepd writes its title over its environment, so the environment alone would not do.
        """
        found = []
        for process in running():
            with contextlib.suppress(psutil.Error):  # ended meanwhile, or another user's
                if process.pid == os.getpid() or process.status() == psutil.STATUS_ZOMBIE:
                    continue
                inherited = process.environ().get("SLURM_CONF") == str(self.conf)
                if inherited or any(f"{self.directory}/" in file.path for file in process.open_files()):
                    found.append(process)
        return found

    def _start_munge(self) -> None:
        key = self.directory / "etc" / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        run, log = self.directory / "run", self.directory / "log"
        command = ["munged", "--foreground", "--force", f"--socket={self._socket}", f"--key-file={key}"]
        command += [
            f"--pid-file={run}/munged.pid",
            f"--log-file={log}/munged.log",
            f"--seed-file={run}/munged.seed",
        ]
        self._spawn("munged", command)
        self.wait_for(self._socket.exists, "munged is listening")

    def _start_accounting(self) -> None:
        if lacking := missing(("dbd",)):
            raise SlurmBedError(f"not installed: {', '.join(lacking)}")
        data, port = self.directory / "mysql", self._ports[1]
        sql_socket = self.directory / "run" / "sql.socket"
        quiet = ["--no-defaults", f"--datadir={data}", "--user=root"]
        made = self.run(
            "mariadb-install-db", *quiet, "--skip-test-db", "--auth-root-authentication-method=normal"
        )
        if made.returncode != 0:
            raise SlurmBedError(f"mariadb-install-db: {made.stderr}")
        options = [f"--socket={sql_socket}", f"--port={port}", "--bind-address=127.0.0.1", "--skip-log-bin"]
        options += [f"--pid-file={self.directory}/run/mariadbd.pid"]
        tuning = ["--innodb-buffer-pool-size=64M", "--innodb-lock-wait-timeout=900"]
        self._spawn("mariadbd", ["mariadbd", *quiet, *options, *tuning])
        grant = (
            "create database slurm_acct_db; grant all on slurm_acct_db.* to "
            f"'slurm'@'127.0.0.1' identified by '{_DBD_PASSWORD}'; "
            f"grant all on slurm_acct_db.* to 'slurm'@'localhost' identified by '{_DBD_PASSWORD}';"
        )
        client = ["mariadb", "--no-defaults", f"--socket={sql_socket}", "--user=root"]
        self.wait_for(lambda: self.run(*client, "-e", "select 1").returncode == 0, "MariaDB answers")
        if (granted := self.run(*client, "-e", grant)).returncode != 0:
            raise SlurmBedError(f"mariadb: {granted.stderr}")
        configuration = self.directory / "etc" / "slurmdbd.conf"
        configuration.write_text(
            _lines(
                AuthType="auth/munge",
                AuthInfo=f"socket={self._socket}",
                DbdHost=self._host,
                DbdAddr="127.0.0.1",
                DbdPort=str(self._ports[2]),
                SlurmUser="root",
                LogFile=f"{self.directory}/log/slurmdbd.log",
                PidFile=f"{self.directory}/run/slurmdbd.pid",
                StorageType="accounting_storage/mysql",
                StorageHost="127.0.0.1",
                StoragePort=str(port),
                StorageUser="slurm",
                StoragePass=_DBD_PASSWORD,
                StorageLoc="slurm_acct_db",
            )
        )
        configuration.chmod(0o600)
        self._spawn("slurmdbd", ["slurmdbd", "-D"])
        manage = ("sacctmgr", "-i", "add")
        self.wait_for(lambda: self.run(*manage, "cluster", "bed").returncode == 0, "slurmdbd answers")
        self.run(*manage, "account", "test")
        for user in ("root", "nobody"):
            self.run(*manage, "user", user, "account=test")

    def _write_configuration(self) -> None:
        run, log = self.directory / "run", self.directory / "log"
        accounting = {"AccountingStorageType": "accounting_storage/none"}
        if self._dbd:
            accounting = {
                "AccountingStorageType": "accounting_storage/slurmdbd",
                "AccountingStorageHost": "127.0.0.1",
                "AccountingStoragePort": str(self._ports[2]),
                # With a private munge socket, clients otherwise try the system's.
                "AccountingStoragePass": str(self._socket),
            }
        keys = {
            "ClusterName": "bed",
            "SlurmctldHost": f"{self._host}({self.address})",
            "SlurmUser": "root",
            "SlurmdUser": "root",
            "AuthType": "auth/munge",
            "CredType": "cred/munge",
            "AuthInfo": f"socket={self._socket}",
            "SlurmctldPort": str(self._ports[0]),
            "SlurmctldPidFile": f"{run}/slurmctld.pid",
            "SlurmctldLogFile": f"{log}/slurmctld.log",
            "StateSaveLocation": f"{self.directory}/state",
            "SlurmdPidFile": f"{run}/slurmd.%n.pid",
            "SlurmdLogFile": f"{log}/slurmd.%n.log",
            "SlurmdSpoolDir": f"{self.directory}/spool/%n",
            "SlurmdParameters": "config_overrides",
            "ProctrackType": "proctrack/linuxproc",
            "TaskPlugin": "task/none",
            "JobAcctGatherType": "jobacct_gather/linux",
            "SwitchType": "switch/none",
            "MpiDefault": "none",
            "SelectType": "select/cons_tres",
            "SelectTypeParameters": "CR_Core",
            "SchedulerType": "sched/backfill",
            "SchedulerParameters": "batch_sched_delay=0,sched_min_interval=0,bf_interval=1,sched_interval=2",
            "ReturnToService": "2",
            "SlurmctldTimeout": "10",
            "SlurmdTimeout": str(max(self._slurmd_timeout, _least_timeout(self.release))),
            "InactiveLimit": "0",
            "KillWait": "2",
            "MinJobAge": "300",
            "Waittime": "0",
            "TreeWidth": "64",
            **accounting,
            **self._settings,
        }
        text = _lines(**keys) + "".join(self._node_line(index) for index in range(len(self.nodes)))
        for line, port in zip(self._more, self._ports[3 + len(self.nodes) :], strict=True):
            text += f"{line.format(port=port)}\n"
        self.conf.write_text(text + "PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n")
        # slurmd starts a cgroup plugin even where nothing uses it, and guesses wrong in containers.
        (self.conf.parent / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
        # Several nodes on one host would share PMIx's directories in /tmp.
        (self.conf.parent / "mpi.conf").write_text(f"PMIxCliTmpDirBase={self.local}\n")

    def _node_line(self, index: int) -> str:
        node = self.nodes[index]
        place = {"NodeHostname": self._host if self.mode == "host" else node, "NodeAddr": "127.0.0.1"}
        place["Port"] = str(self._ports[3 + index])
        if self._network.subnet:
            place |= {"NodeAddr": f"{self._network.subnet}.{index + 1}", "Port": "6818"}
        size = {"CPUs": self._cpus, "Boards": 1, "SocketsPerBoard": 1, "CoresPerSocket": self._cpus}
        parts = {
            "NodeName": node,
            **place,
            **size,
            "ThreadsPerCore": 1,
            "RealMemory": 1000,
            "State": "UNKNOWN",
        }
        return " ".join(f"{key}={value}" for key, value in parts.items()) + "\n"


def _least_timeout(release: Release) -> int:
    """Return the seconds below which a release takes nodes that answer for dead.

    23.11 and 24.05 count answers only when each dead node was tried for ten seconds: 12 s were too few.
    """
    return 20 if (22, 5) < release < (24, 11) else 0


def _lines(**keys: str) -> str:
    return "".join(f"{key}={value}\n" for key, value in keys.items())


def _await_end(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(timeout=20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
