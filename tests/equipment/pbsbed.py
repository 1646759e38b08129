"""A throw-away real PBS cluster of several nodes on one host, for tests.

Every node is a pbs_mom in its own PID, mount and UTS namespace, with an address and a port of its own in the
host's network. Its whole life can be taken at once. The server's host, with pbs_server, pbs_sched, pbs_comm
and their database, is one more of these. Needs root, and PBS where ``qsub`` is on PATH, or in ``WHESL_PBS``.

All dies with the thread that started the bed (``PR_SET_PDEATHSIG``).
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil

from tests.equipment.cluster_bed import Bed
from tests.equipment.free_ports import free_ports
from whesl.model.errors import WheslError

SERVER = "pbsbed"
# PBS trusts no file below a directory that everybody may write to, as /tmp is.
_PLACE = Path("/var/lib")
_DATABASE_USER = "postgres"
_SYSTEM = "/usr/sbin:/usr/bin:/sbin:/bin"
_UNSHARE = (
    "setpriv",
    "--pdeathsig",
    "KILL",
    "unshare",
    "--pid",
    "--mount",
    "--uts",
    "--fork",
    "--kill-child=KILL",
)
# A host's first process: an init that reaps.
_INIT = 'mount -t proc proc /proc; hostname "$1"; mount --bind "$2" /etc/hosts; shift 2\n'
_NODE = _INIT + '"$@" & while :; do wait; sleep 0.2; done'
_SERVER = (
    _INIT
    + """\
PBS_DATA_SERVICE_USER=$1 PBS_SERVER=$2 PBS_DATA_SERVICE_PORT=$3 PBS_HOME=$4 PBS_EXEC=$5; comm=$6
export PBS_DATA_SERVICE_USER PBS_SERVER PBS_DATA_SERVICE_PORT PBS_HOME PBS_EXEC
"$PBS_EXEC/libexec/pbs_db_utility" install_db || exit 1
(PBS_CONF_FILE=$comm; export PBS_CONF_FILE; exec pbs_comm -N) &
pbs_server -N -t create &
until qstat -B >/dev/null 2>&1; do sleep 0.2; done
pbs_sched -N &
while :; do wait; sleep 0.2; done
"""
)
_SETTINGS = """\
create queue workq
set queue workq queue_type = Execution
set queue workq enabled = True
set queue workq started = True
set server default_queue = workq
set server job_history_enable = True
set server scheduler_iteration = 5
set server acl_roots = root
set server flatuid = True
set server managers += root@*
"""
_HOME = {
    "server": (
        "server_priv/accounting server_priv/hooks/tmp server_priv/jobs server_priv/users server_priv/resvs "
        "sched_priv server_logs sched_logs comm_logs mom_priv spool undelivered checkpoint datastore"
    ),
    "node": "aux mom_logs mom_priv/jobs mom_priv/hooks/tmp server_priv spool undelivered checkpoint",
}
_MODES = {
    "spool": 0o1777,
    "undelivered": 0o1777,
    "checkpoint": 0o700,
    "sched_priv": 0o750,
    "server_priv": 0o750,
}
# Commands of other resource managers.
_OTHERS = ("sbatch", "srun", "salloc", "scontrol", "squeue", "sinfo", "sacct", "scancel", "flux")
_OUTER = ("PBS", "WHESL", "SLURM", "SBATCH", "FLUX")


class PbsBedError(WheslError):
    """The test cluster could not be started or did not do what it was told; its log says why."""


def prefix() -> Path | None:
    """Return where PBS is installed: WHESL_PBS, or where ``qsub`` is."""
    if given := os.environ.get("WHESL_PBS"):
        return Path(given)
    found = shutil.which("qsub")
    return Path(found).resolve().parent.parent if found else None


def missing() -> list[str]:
    """Return what is needed for a bed and is not there."""
    place = prefix()
    programs = ["sbin/pbs_server", "sbin/pbs_mom", "sbin/pbs_comm", "sbin/pbs_sched", "bin/qsub"]
    lacking = ["qsub"] if place is None else [name for name in programs if not (place / name).exists()]
    lacking += [name for name in ("unshare", "setpriv", "ip") if shutil.which(name) is None]
    if _database() is None:
        lacking.append("initdb")
    return lacking + (["root"] if os.geteuid() != 0 else [])


def _database() -> Path | None:
    """Return the directory of PostgreSQL's programs. Debian does not put it on PATH."""
    system = sorted(found.parent for found in Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    found = shutil.which("initdb")
    return system[-1] if system else Path(found).parent if found else None


class PbsBed(Bed):
    """One cluster; a context manager.

    Args:
        nodes: how many nodes, named n01, n02, ...
        cpus: processors that each node claims to have.
        settings: more lines for qmgr.
    """

    error = PbsBedError

    def __init__(self, nodes: int = 3, *, cpus: int = 4, settings: Sequence[str] = ()) -> None:
        super().__init__(Path(tempfile.mkdtemp(prefix="whesl-pbs-", dir=_PLACE)))
        self.nodes = tuple(f"n{number:02d}" for number in range(1, nodes + 1))
        self._cpus = cpus
        self._settings = settings
        self._prefix = prefix() or Path("/opt/pbs")
        self._ports, self._claims = free_ports(4)
        # A node's daemon wants the port behind its own for its task manager.
        self._node_ports, claims = free_ports(nodes, 2)
        self._claims += claims
        self._bridge = f"p{secrets.token_hex(3)}"
        self._subnet = ""
        self._hosts: dict[str, subprocess.Popen[bytes]] = {}
        self.conf = self.directory / "pbs.conf"

    # Life -------------------------------------------------------------------------------------------

    def start(self, timeout: float = 120.0) -> None:
        """Start the cluster and return when all nodes are free. Raises PbsBedError."""
        if lacking := missing():
            raise PbsBedError(f"not there: {', '.join(lacking)}")
        self.directory.chmod(0o755)
        self._network()
        self._write_server()
        home, comm = self.directory / "server", self.directory / "comm.conf"
        words = [_DATABASE_USER, SERVER, str(self._ports[2]), str(home), str(self._prefix), str(comm)]
        self._spawn(SERVER, _SERVER, words, self.conf)
        self.wait_for(lambda: self.run("qstat", "-B").returncode == 0, "pbs_server answers", timeout)
        for line in (*_SETTINGS.splitlines(), *self._settings):
            self._manage(line)
        for index, node in enumerate(self.nodes):
            self._write_node(index)
            self._manage(f"create node {node} Mom={node},Port={self._node_ports[index]}")
            self._manage(f"set node {node} resources_available.ncpus={self._cpus}")
            self.start_node(node)
        self.wait_for(lambda: self.states() == ["free"] * len(self.nodes), "all nodes free", timeout)

    def stop(self) -> None:
        """End every process and the network of the cluster, and remove its directory."""
        with contextlib.ExitStack() as ending:
            for claim in self._claims:
                ending.callback(claim.close)
            ending.callback(shutil.rmtree, self.directory, ignore_errors=True)
            if self._subnet:
                ending.callback(subprocess.run, ["ip", "link", "del", self._bridge], check=False)
            for host in (SERVER, *self.nodes):
                ending.callback(self.kill_node, host)

    # Use --------------------------------------------------------------------------------------------

    @property
    def outside(self) -> dict[str, str]:
        """The environment of a login node."""
        outer = {k: v for k, v in os.environ.items() if not k.startswith(_OUTER)}
        path = f"{self._prefix}/bin:{self._prefix}/sbin:{os.environ.get('PATH', _SYSTEM)}"
        return {**outer, "PATH": path, "PBS_CONF_FILE": str(self.conf)}

    def alone(self) -> dict[str, str]:
        """Return the environment of a login node that has no commands of other resource managers."""
        commands = self.directory / "commands"
        if not commands.exists():
            commands.mkdir()
            found = [
                file
                for place in reversed(self.outside["PATH"].split(os.pathsep))
                for file in Path(place).glob("*")
            ]
            for name, file in {file.name: file for file in found if file.name not in _OTHERS}.items():
                (commands / name).symlink_to(file)
        return {**self.outside, "PATH": f"{Path(sys.executable).parent}:{commands}"}

    def submit(self, script: str, *options: str) -> str:
        """Submit a script's text with qsub options and return the job's id. Raises PbsBedError."""
        quiet = ("-j", "oe", "-k", "oed", "-o", "/dev/null")
        result = self.run("qsub", *quiet, *options, str(self.script(script)))
        if result.returncode != 0:
            raise PbsBedError(f"qsub: {result.stderr}")
        return result.stdout.strip()

    def job(self, job_id: str) -> dict[str, Any]:
        """Return what qstat tells of a job, nothing when it is not known."""
        told = self.run("qstat", "-x", "-f", "-F", "json", job_id).stdout
        found: dict[str, Any] = json.loads(told or "{}").get("Jobs", {}).get(job_id, {})
        return found

    def states(self) -> list[str]:
        """Return the nodes' states in order."""
        told = json.loads(self.run("pbsnodes", "-a", "-v", "-F", "json").stdout or "{}").get("nodes", {})
        return [str(told.get(node, {}).get("state", "")) for node in self.nodes]

    def job_environment(self, nodes: int, *options: str) -> dict[str, str]:
        """Start a job that stays, and return the environment that its script has."""
        told = self.directory / f"job-{secrets.token_hex(4)}.env"
        script = f"env -0 > {told}.new && mv {told}.new {told}; while :; do sleep 3600; done"
        place = ("-l", f"select={nodes}:ncpus=1", "-l", "place=scatter", "-W", "tolerate_node_failures=all")
        job = self.submit(script, *place, *options)
        self.wait_for(told.exists, f"job {job} runs")
        entries = told.read_text().split("\0")
        return dict(entry.split("=", 1) for entry in entries if "=" in entry)

    def delete(self, job_id: str) -> None:
        """Delete a job, and return when its nodes are free of it."""
        self.run("qdel", "-W", "force", job_id)
        self.wait_for(lambda: self.job(job_id).get("job_state") == "F", f"job {job_id} is over")

    def _trouble(self) -> str:
        ended = [name for name, host in self._hosts.items() if host.poll() is not None]
        return f"{ended[0]} ended\n{self.log()}" if ended else ""

    def log(self) -> str:
        """Return the end of what the daemons wrote."""
        files = [*self.directory.glob("*.out"), *self.directory.glob("*/*_logs/*")]
        return "\n".join(f"{file}:\n{file.read_text(errors='replace')[-1500:]}" for file in files)

    # Faults -----------------------------------------------------------------------------------------

    def start_node(self, node: str) -> None:
        """Start a node that is not running."""
        port = self._node_ports[self.nodes.index(node)]
        mom = [f"{self._prefix}/sbin/pbs_mom", "-N", "-M", str(port), "-R", str(port + 1)]
        self._spawn(node, _NODE, mom, self.directory / f"{node}.conf")

    def kill_node(self, node: str) -> None:
        """Crash a node: every process on it dies at once. Returns when they are gone."""
        host = self._hosts.pop(node, None)
        if host is None:
            return
        # The namespace's init dies first: its parent, unshare, then reaps it, and leaves no zombie to PID 1.
        with contextlib.suppress(psutil.NoSuchProcess):
            for init in psutil.Process(host.pid).children():
                init.kill()
        try:
            host.wait(timeout=20)
        except subprocess.TimeoutExpired:
            host.kill()
            host.wait()

    def heal(self) -> None:
        """Start the nodes that were killed, and return when all of them are free."""
        for node in self.nodes:
            if node not in self._hosts:
                self.start_node(node)
        self.wait_for(lambda: self.states() == ["free"] * len(self.nodes), "all nodes are back")

    # Parts ------------------------------------------------------------------------------------------

    def _spawn(self, name: str, script: str, words: Sequence[str], conf: Path) -> None:
        database = _database()
        path = f"{self._prefix}/bin:{self._prefix}/sbin:{database}:{_SYSTEM}"
        with (self.directory / f"{name}.out").open("ab") as log:
            self._hosts[name] = subprocess.Popen(
                [*_UNSHARE, "sh", "-c", script, "init", name, str(self.directory / "hosts"), *words],
                env={"PATH": path, "PBS_CONF_FILE": str(conf), "LANG": "C.UTF-8", "HOME": "/root"},
                cwd=self.directory,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def _manage(self, line: str) -> None:
        if (done := self.run("qmgr", "-c", line)).returncode != 0:
            raise PbsBedError(f"qmgr: {line}: {done.stderr}")

    def _network(self) -> None:
        """Make an address for each host: PBS tells daemons by theirs, and takes none of loopback."""
        taken = subprocess.run(["ip", "-4", "-o", "addr"], capture_output=True, text=True, check=True).stdout
        nets = (f"10.{200 + secrets.randbelow(55)}.{secrets.randbelow(250)}" for _ in range(100))
        self._subnet = next(net for net in nets if f" {net}." not in taken)
        changes = [["link", "add", self._bridge, "type", "bridge"], ["link", "set", self._bridge, "up"]]
        numbers = {SERVER: 254, **{node: index + 1 for index, node in enumerate(self.nodes)}}
        changes += [["addr", "add", f"{self._subnet}.{n}/24", "dev", self._bridge] for n in numbers.values()]
        for change in changes:
            subprocess.run(["ip", *change], check=True)
        lines = [
            "127.0.0.1 localhost",
            *(f"{self._subnet}.{number} {name}" for name, number in numbers.items()),
        ]
        (self.directory / "hosts").write_text("\n".join(lines) + "\n")

    def _configuration(self, **more: object) -> str:
        keys = {
            "PBS_EXEC": self._prefix,
            "PBS_SERVER": SERVER,
            "PBS_BATCH_SERVICE_PORT": self._ports[0],
            "PBS_BATCH_SERVICE_PORT_DIS": self._ports[0],
            "PBS_SCHEDULER_SERVICE_PORT": self._ports[1],
            "PBS_DATA_SERVICE_PORT": self._ports[2],
            "PBS_START_SERVER": 1,
            **more,
        }
        return "".join(f"{key}={value}\n" for key, value in keys.items())

    def _home(self, name: str, kind: str) -> Path:
        home = self.directory / name
        for part in _HOME[kind].split():
            (home / part).mkdir(parents=True, exist_ok=True)
        for part, mode in _MODES.items():
            if (home / part).exists():
                (home / part).chmod(mode)
        (home / "pbs_environment").write_text(
            f"PATH={self._prefix}/bin:{_SYSTEM}\nPBS_CONF_FILE={self.conf}\n"
        )
        return home

    def _write_server(self) -> None:
        home = self._home("server", "server")
        router = f"{SERVER}:{self._ports[3]}"
        place = {"PBS_HOME": home, "PBS_SERVER_HOST_NAME": f"{self._subnet}.254", "PBS_LEAF_NAME": SERVER}
        self.conf.write_text(self._configuration(**place, PBS_LEAF_ROUTERS=router))
        (self.directory / "comm.conf").write_text(self._configuration(**place, PBS_COMM_NAME=router))
        (home / "server_priv" / "db_user").write_text(_DATABASE_USER)
        (home / "server_priv" / "db_user").chmod(0o600)
        (home / "server_name").write_text(f"{SERVER}\n")
        names = {"sched_config": "sched_config", "dedicated": "dedicated_time", "holidays": "holidays"}
        for name, there in {**names, "resource_group": "resource_group"}.items():
            shutil.copy(self._prefix / "etc" / f"pbs_{name}", home / "sched_priv" / there)
            (home / "sched_priv" / there).chmod(0o644)

    def _write_node(self, index: int) -> None:
        node, port = self.nodes[index], self._node_ports[index]
        home = self._home(node, "node")
        own = {"PBS_HOME": home, "PBS_LEAF_NAME": node, "PBS_MOM_NODE_NAME": node, "PBS_START_SERVER": 0}
        ports = {"PBS_MOM_SERVICE_PORT": port, "PBS_MANAGER_SERVICE_PORT": port + 1}
        router = f"{SERVER}:{self._ports[3]}"
        text = self._configuration(**own, **ports, PBS_LEAF_ROUTERS=router)
        (self.directory / f"{node}.conf").write_text(text)
        (home / "mom_priv" / "config").write_text(f"$clienthost {SERVER}\n$usecp *:/ /\n")
