"""What lives in a cluster under chaos, by the kernel's and the scheduler's word: processes and jobs."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

import msgspec

ROLES = ("keeper", "isolator", "responder", "agent", "rank", "coordinator")


class Process(msgspec.Struct, frozen=True, kw_only=True):
    """A process of the product or of a task. ``node`` is empty on the login node. ``since``: start, ticks.

    ``task`` is empty where only the ``job`` is told.
    """

    pid: int
    since: int
    role: str
    task: str
    job: str
    node: str
    rank: int = 0


class Queued(msgspec.Struct, frozen=True, kw_only=True):
    """A job as squeue prints it."""

    job: str
    name: str
    state: str
    batch_host: str
    nodes: str
    restarts: str

    @property
    def claim(self) -> str:
        """What the product calls this run of the job."""
        return f"{self.job}.{self.restarts}"


class Scan:
    """Finds the processes of one WHESL home; what was read of a process once is kept.

    Args:
        home: the WHESL home, which all of them carry in their environment.
    """

    def __init__(self, home: Path) -> None:
        self._mark = f"WHESL_HOME={home}".encode()
        self._root = f"{home.parent}/"
        self._known: dict[tuple[int, int], Process | None] = {}

    def living(self, spaces: Mapping[str, str]) -> list[Process]:
        """Return all that live now. ``spaces``: process-number namespaces and the nodes that they are."""
        found: dict[tuple[int, int], Process | None] = {}
        for place in Path("/proc").iterdir():
            if not place.name.isdigit():
                continue
            try:
                fields = (place / "stat").read_bytes().rpartition(b")")[2].split()
                if fields[0] in (b"Z", b"X"):
                    continue
                key = (int(place.name), int(fields[19]))
                known = self._known.get(key)
                # What has just been forked may yet become something else.
                found[key] = known if known is not None else self._read(place, key, spaces)
            except (OSError, ValueError, IndexError):
                continue  # gone meanwhile
        self._known = found
        return [process for process in found.values() if process is not None]

    def _read(self, place: Path, key: tuple[int, int], spaces: Mapping[str, str]) -> Process | None:
        words = (place / "cmdline").read_bytes().split(b"\0")
        role, task = _role(words)
        if not role:
            return None
        variables = (place / "environ").read_bytes().split(b"\0")
        # A rank may have written over its environment.
        if self._mark not in variables and not (role == "rank" and self._root in _value(words, b"--ledger")):
            return None
        environment = dict(item.decode(errors="replace").partition("=")[::2] for item in variables)
        node = spaces.get(str((place / "ns" / "pid").readlink()), "")
        return Process(
            pid=key[0],
            since=key[1],
            role=role,
            task=task,
            job=environment.get("SLURM_JOB_ID", "") or _value(words, b"--job"),
            node=node,
            rank=int(environment.get("SLURM_PROCID", "0")),
        )


def _value(words: list[bytes], option: bytes) -> str:
    return words[words.index(option) + 1].decode() if option in words[:-1] else ""


def _role(words: list[bytes]) -> tuple[str, str]:
    """Return what a process is and, where its command line tells, whose."""
    text = [word.decode(errors="replace") for word in words]
    if len(text) < 2 or "python" not in Path(text[0]).name:
        return "", ""
    if "whesl.runtime.isolator" in text:
        return "isolator", Path(text[text.index("--task-dir") + 1]).name
    if "whesl.runtime.node_agent.agent" in text:
        return "agent", ""
    if "whesl.runtime.isolator.nodes.heartbeat_responder" in text:
        return "responder", ""
    if "whesl.runtime.coordinator" in text:
        return "coordinator", ""
    if any(word.endswith("runtime/isolator/launch/isolator_keeper.py") for word in text):
        return "keeper", ""
    if any(word.endswith("chaos/programs/work.py") for word in text):
        return "rank", text[text.index("--task") + 1]
    return "", ""


def alive(process: Process) -> bool:
    """Whether it is still that process, and no zombie."""
    try:
        fields = Path(f"/proc/{process.pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return False
    return int(fields[19]) == process.since and fields[0] not in (b"Z", b"X")


def queue(environment: Mapping[str, str]) -> list[Queued] | None:
    """Return all jobs, None when the scheduler does not answer."""
    fields = ("JobID", "Name", "State", "BatchHost", "NodeList", "RestartCnt")
    form = ",".join(f"{field}:|" for field in fields)
    try:
        done = subprocess.run(
            ["squeue", "-h", "-t", "all", "-O", form],
            env=dict(environment), capture_output=True, text=True, timeout=3, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return None
    if done.returncode != 0:
        return None
    rows = [line.strip().split("|") for line in done.stdout.splitlines()]
    return [
        Queued(job=row[0], name=row[1], state=row[2], batch_host=row[3], nodes=row[4], restarts=row[5])
        for row in rows
        if len(row) == len(fields) + 1
    ]
