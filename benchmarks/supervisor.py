"""The least that a sound recovery of a Slurm step does, and nothing else: ``recovery.py`` runs it in a job.

    python benchmarks/supervisor.py SCRIPT TIMES RAISED

Runs the script again whenever it prints "bench: boom", at most TIMES times. When that is read, all processes
of the attempt are killed on all nodes, ``srun`` is left to end by itself, each node is looked at once more
(``srun`` may have started something in its last moments), and the script is started. Nothing is written down
but the times (to RAISED), nothing is encrypted, no launcher is rewritten, nobody watches for anything else.

The other nodes are helped by the same program (``--node PORT``). They live on the same machine, as those of
``tests.equipment.slurmbed`` do.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

from whesl.managers.resource.command_call import send
from whesl.managers.resource.slurm.job_variables_of_nodes_in_use import nodes_of
from whesl.runtime.node_agent.fencing.attempt_processes import (
    TOKEN_VARIABLE,
    Process,
    of_attempt,
    until_ended,
)

HOST = "127.0.0.1"
PATIENCE = 10.0  # seconds for srun to end
LOOK = 0.001  # between two looks, where the first has found something


def main() -> None:
    """Supervise, or help on another node."""
    if sys.argv[1] == "--node":
        _help(int(sys.argv[2]))
    else:
        _supervise(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))


def _supervise(script: str, times: int, raised: Path) -> None:
    helpers = _helpers()
    moments: list[float] = []
    for attempt in range(times + 1):
        token = f"supervised.{attempt}"
        child = subprocess.Popen(
            ["bash", script],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            env={**os.environ, "WHESL_RESTART_COUNT": str(attempt), TOKEN_VARIABLE: token},
            start_new_session=True,
        )
        assert child.stdout is not None
        if any(b"bench: boom" in line for line in child.stdout):
            moments.append(time.time())
            _end(token, child.pid, helpers)
        child.wait()
        child.stdout.close()
    raised.write_text("".join(f"{moment:.6f}\n" for moment in moments))


def _end(token: str, session: int, helpers: list[socket.socket]) -> None:
    for helper in helpers:
        helper.send(f"kill {token}\n".encode())
    found = of_attempt(token, session)
    _kill(process for process in found if process.name != "srun")
    until_ended(found, PATIENCE)
    for helper in helpers:
        helper.send(f"look {token}\n".encode())
    while of_attempt(token, session):
        time.sleep(LOOK)
    for helper in helpers:
        helper.recv(1)


def _helpers() -> list[socket.socket]:
    """Start a helper on each node but this one, and return the connections to them."""
    others = [name for name in nodes_of(os.environ) if name != os.environ["SLURMD_NODENAME"]]
    count = str(len(others))
    with socket.create_server((HOST, 0)) as server:
        step = ["srun", "--overlap", "--mem=0", "-N", count, "-n", count, "-w", ",".join(others)]
        program = [sys.executable, __file__, "--node", str(server.getsockname()[1])]
        subprocess.Popen([*step, *program], stdin=subprocess.DEVNULL)
        made = [server.accept()[0] for _ in others]
    for connection in made:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return made


def _help(port: int) -> None:
    """Kill and look as the supervisor says, until it has ended."""
    spare, node = (os.getpid(), os.getppid()), os.environ["SLURMD_NODENAME"]
    with socket.create_connection((HOST, port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for words in connection.makefile():
            what, token = words.split()
            if what == "kill":
                _kill(of_attempt(token, spare=spare, node=node))
                continue
            while of_attempt(token, spare=spare, node=node):
                time.sleep(LOOK)
            connection.send(b".")


def _kill(found: Iterable[Process]) -> None:
    for process in found:
        send(process.pid, signal.SIGKILL)


if __name__ == "__main__":
    main()
