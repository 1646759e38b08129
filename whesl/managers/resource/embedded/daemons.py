"""Start, stop, crash and hang the processes of a cluster."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import msgspec

from whesl.files import file_retry
from whesl.managers.resource import command_call
from whesl.managers.resource.embedded import process_lookup, protocol
from whesl.managers.resource.embedded.cluster_directory import Cluster
from whesl.managers.resource.embedded.environment import cleaned
from whesl.managers.resource.embedded.scheduler.job_and_node_records import Settings
from whesl.model.errors import CouldNotObserveError, RefusedError, TransientError, UsageError

COMMANDS = ("sbatch", "srun", "squeue", "scancel", "sinfo", "sacct", "scontrol")
START_TIMEOUT = 30.0
_BOOT = (
    "import sys; sys.path[:0] = {paths!r}; from whesl.managers.resource.embedded.commands import main; "
    "sys.exit(main(sys.argv[1:]))"
)


def command_prefix() -> list[str]:
    """Return the command line that, followed by a name such as ``sbatch``, runs that Slurm-like command.

    The interpreter is isolated (``-I``) from the caller's PYTHONPATH and from files in the working directory.
    """
    found = [find_spec("whesl"), find_spec("msgspec")]
    paths = [str(Path(spec.origin).parent.parent) for spec in found if spec is not None and spec.origin]
    return [sys.executable, "-I", "-c", _BOOT.format(paths=paths)]


def start(cluster: Cluster, settings: Settings | None) -> None:
    """Start a cluster, or only its server when its nodes still run.

    Args:
        cluster: the cluster to start.
        settings: the cluster's new settings; None keeps those of its last start.

    Raises RefusedError when the cluster runs already, TransientError when a process does not start,
    UsageError when the directory cannot be used.
    """
    cluster.prepare()
    if _answers(cluster):
        raise RefusedError(f"the cluster in {cluster.path} runs already", hint="whesl local stop")
    living = [node for node in cluster.settings().nodes if node_pid(cluster, node)] if _known(cluster) else []
    if settings is not None and living:
        raise RefusedError(
            "nodes of this cluster still run with the settings it was started with",
            hint="`whesl local start` without options continues, `whesl local stop` ends them",
        )
    settings = settings or cluster.settings()
    prepare(cluster, settings)
    start_server(cluster)
    if not living:
        wait_for_nodes(cluster, settings.nodes, start_nodes(cluster, settings.nodes))


def prepare(cluster: Cluster, settings: Settings) -> None:
    """Write a cluster's directories, settings and commands. Raises as ``Cluster.prepare``.

    Args:
        cluster: the cluster.
        settings: the settings to write.
    """
    cluster.prepare()
    _write_settings(cluster, settings)
    write_commands(cluster)


def start_server(cluster: Cluster) -> int:
    """Start the server and wait until it answers; returns its process id. Raises TransientError."""
    # The placement package runs the same server, with an order of nodes by predictions.
    server = (
        "whesl.placement.site.local_cluster_placement"
        if cluster.settings().placement
        else "whesl.managers.resource.embedded.server"
    )
    process = _spawn(cluster, [server, cluster.path])
    deadline = time.monotonic() + START_TIMEOUT
    while not _answers(cluster):
        if process.poll() is not None or time.monotonic() > deadline:
            log = Path(cluster.join("log")).read_text(errors="replace").strip().splitlines()
            raise TransientError(
                f"the server of {cluster.path} did not start: {log[-1] if log else 'no message'}",
                hint=f"see {cluster.join('log')}",
            )
        time.sleep(0.02)
    return process.pid


def start_nodes(cluster: Cluster, names: Sequence[str]) -> float:
    """Start nodes with empty storage; return the time before the start, in seconds since the epoch.

    Processes that a crashed node left behind are killed first.

    Args:
        cluster: the nodes' cluster.
        names: the nodes to start.

    Raises UsageError for an unknown node, RefusedError for a running one, TransientError for a failed start.
    """
    for name in names:
        if name not in cluster.settings().nodes:
            raise UsageError(f"there is no node {name}", hint="whesl local nodes")
        if node_pid(cluster, name):
            raise RefusedError(f"{name} runs already")
        process_lookup.crash(cluster.path, name, None)
    since = time.time()
    process = _spawn(cluster, ["whesl.managers.resource.embedded.node", cluster.path, *names])
    process.wait()
    complaint = "nodes do not start (see nodes/*/log)"
    process_lookup.until(lambda: all(node_pid(cluster, name) for name in names), START_TIMEOUT, complaint)
    return since


def wait_for_nodes(cluster: Cluster, names: Sequence[str], since: float = 0.0) -> None:
    """Wait until nodes that were started after ``since`` have registered. Raises TransientError.

    Args:
        cluster: the nodes' cluster.
        names: the nodes to wait for.
        since: seconds since the epoch.
    """
    deadline = time.monotonic() + START_TIMEOUT
    while True:
        answer = cluster.ask(protocol.ListNodes(), protocol.Nodes)
        missing = [
            view.name
            for view in answer.nodes
            if view.name in names and (view.base in ("down", "unknown") or view.booted < since)
        ]
        if not missing:
            return
        if time.monotonic() > deadline:
            raise TransientError(f"nodes did not start: {', '.join(missing)}", hint="see nodes/*/log")
        time.sleep(0.02)


def stop(cluster: Cluster) -> None:
    """Cancel all jobs, end the server and all nodes. A cluster that is stopped already is no error."""
    settings = cluster.settings()
    with contextlib.suppress(CouldNotObserveError, RefusedError, TransientError):
        if not _answers(cluster):
            # A running server has to record the jobs as cancelled, or the next start would continue them.
            start_server(cluster)
        cluster.call(protocol.Shutdown(), patience=0.2)
    server = server_pid(cluster)
    if server is not None:
        command_call.send(server, signal.SIGTERM)
    for name in settings.nodes:
        kill_node(cluster, name)
    process_lookup.until(lambda: server_pid(cluster) is None, START_TIMEOUT, "the server does not end")


def kill_node(cluster: Cluster, name: str) -> int:
    """Crash a node: kill all its processes at once, without a report, and delete its storage.

    Args:
        cluster: the node's cluster.
        name: the node's name.

    Returns the number of killed processes. Raises UsageError for an unknown node.
    """
    _check_name(cluster, name)
    killed = process_lookup.crash(cluster.path, name, node_pid(cluster, name))
    shutil.rmtree(cluster.join("nodes", name, "storage"), ignore_errors=True)
    if process_lookup.variables(os.getpid(), ("WHESL_LOCAL_NODE",)).get("WHESL_LOCAL_NODE") == name:
        # This process runs on the crashed node, too.
        os.kill(os.getpid(), signal.SIGKILL)
    return killed


def hang_node(cluster: Cluster, name: str) -> None:
    """Hang a node: stop all its processes with SIGSTOP. Raises RefusedError when the node does not run.

    Args:
        cluster: the node's cluster.
        name: the node's name.
    """
    _check_name(cluster, name)
    process_lookup.freeze(cluster.path, name, _living(cluster, name))


def wake_node(cluster: Cluster, name: str) -> None:
    """Continue a hung node's processes. Raises RefusedError when the node does not run.

    Args:
        cluster: the node's cluster.
        name: the node's name.
    """
    _check_name(cluster, name)
    process_lookup.thaw(cluster.path, name, _living(cluster, name))


def node_pid(cluster: Cluster, name: str) -> int | None:
    """Return the process id of a node's daemon, None when the daemon does not run.

    Args:
        cluster: the node's cluster.
        name: the node's name.

    Raises CouldNotObserveError when the pid file or /proc cannot be read.
    """
    path = cluster.join("nodes", name, "pid")
    try:
        content = file_retry.content(path)
        pid, started = map(int, (content or b"").split())
        process = process_lookup.look(pid)
    except OSError as error:
        raise CouldNotObserveError(
            f"whether node {name} lives could not be seen: {path}: {error.strerror}",
            hint="the same command again, when its file system answers",
        ) from None
    except ValueError:
        return None
    alive = process is not None and process.started == started and process.state not in "ZX"
    return pid if alive else None


def server_pid(cluster: Cluster) -> int | None:
    """Return the process id of the server, None when no process holds the cluster's lock."""
    from whesl.runtime.locking import takeover_lock

    owner = takeover_lock.holder(cluster.join("lock"))
    return owner.pid if owner is not None else None


def exports(cluster: Cluster) -> str:
    """Return shell lines that put the cluster's Slurm-like commands first on PATH."""
    lines = (
        f"export WHESL_LOCAL={shlex.quote(cluster.path)}",
        f'export PATH={shlex.quote(cluster.join("bin"))}:"$PATH"',
        'export USER="${USER:-$(id -un)}"',
    )
    return "\n".join(lines)


def _living(cluster: Cluster, name: str) -> int:
    pid = node_pid(cluster, name)
    if pid is None:
        raise RefusedError(f"{name} does not run", hint=f"whesl local start-node {name}")
    return pid


def _check_name(cluster: Cluster, name: str) -> None:
    if name not in cluster.settings().nodes:
        raise UsageError(f"there is no node {name}", hint="whesl local nodes")


def _known(cluster: Cluster) -> bool:
    return os.path.exists(cluster.join("settings.json"))  # noqa: PTH110


def _answers(cluster: Cluster) -> bool:
    try:
        cluster.call(protocol.Ping(), patience=0.0, timeout=5.0)
    except CouldNotObserveError:
        return False
    return True


def _write_settings(cluster: Cluster, settings: Settings) -> None:
    content = msgspec.json.format(msgspec.json.encode(settings)) + b"\n"
    file_retry.replace(cluster.join("settings.json"), content)


def write_commands(cluster: Cluster) -> None:
    """Write the cluster's Slurm-like commands, as shell scripts, into its ``bin`` directory."""
    prefix = shlex.join(command_prefix())
    for name in COMMANDS:
        # Each script sets its cluster's WHESL_LOCAL, whatever the caller's is.
        place = f"WHESL_LOCAL={shlex.quote(cluster.path)}"
        text = f'#!/bin/sh\n{place} exec {prefix} {name} "$@"\n'
        file_retry.replace(cluster.join("bin", name), text.encode(), mode=0o700)


def _spawn(cluster: Cluster, module: list[str]) -> subprocess.Popen[bytes]:
    environ = cleaned(os.environ)
    for name in [name for name in environ if name.startswith(("WHESL_LOCAL", "WHESL_ATTEMPT"))]:
        # With the marks of a node or an attempt, the daemon would count as one of its processes.
        del environ[name]
    append = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
    with os.fdopen(os.open(cluster.join("log"), append, 0o600), "ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", *module],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=cluster.path,
            env=environ,
            start_new_session=True,
        )
