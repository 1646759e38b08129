"""A parallel program with checkpoints whose output follows from its arguments, and that tells on itself.

Each cycle the ranks hand rank 0 a digest over TCP, so a rank that dies, stops or is cut off holds up all.
Every few cycles rank 0 writes a part of the output and a checkpoint; a start continues from the checkpoint.
All that it does stands in a ledger outside the disks that fill up, and a lock which the kernel drops with the
process proves whether two runs were alive at once.
"""

from __future__ import annotations

import argparse
import ctypes
import fcntl
import hashlib
import json
import os
import socket
import struct
import sys
import time
from pathlib import Path
from typing import Any

PART = 24_000  # bytes
LENGTH = struct.Struct("!I")
FLOCK = struct.Struct("@hhqqi4x")  # of fcntl_locking(2): kind, whence, start, length, process


def digest(*words: str) -> str:
    """Return the digest of words."""
    return hashlib.sha256("\0".join(words).encode()).hexdigest()


def begin_state(task: str, inputs: list[str]) -> str:
    """Return the state before the first cycle; ``inputs`` are the results of the tasks before."""
    return digest(task, *inputs)


def next_state(state: str, cycle: int, ranks: int, task: str) -> str:
    """Return the state after a cycle."""
    return digest(state, *(share(task, rank, cycle) for rank in range(ranks)))


def share(task: str, rank: int, cycle: int) -> str:
    """Return what one rank contributes to a cycle."""
    return digest(task, str(rank), str(cycle))


def part(state: str) -> bytes:
    """Return the part of the output that belongs to a state."""
    return (state.encode() * (PART // 64 + 1))[:PART]


class Ledger:
    """What the runs of a task say of themselves, line by line."""

    def __init__(self, place: Path, task: str, rank: int, node: str) -> None:
        self._file = place / f"{task}.jsonl"
        self._token = os.environ.get("WHESL_ATTEMPT_TOKEN", "none")
        self._common = {
            "task": task,
            "rank": rank,
            "node": node,
            "token": self._token,
            "job": os.environ.get("SLURM_JOB_ID", ""),
            "restarts": os.environ.get("SLURM_RESTART_COUNT", "0"),
        }
        self._locks = place / "locks"
        self._held = -1

    def say(self, event: str, **more: Any) -> None:
        """Append a line in one piece."""
        line = {"event": event, "time": time.time(), **self._common, **more}
        descriptor = os.open(self._file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.write(descriptor, json.dumps(line).encode() + b"\n")
        os.close(descriptor)

    def enter(self) -> None:
        """Hold this run's lock, and say so of every other run of the task whose lock is held."""
        name = hashlib.sha256(self._token.encode()).hexdigest()[:16]
        own = f"{self._common['task']}.{name}"
        self._held = os.open(self._locks / own, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.fcntl(self._held, fcntl.F_OFD_SETLK, FLOCK.pack(fcntl.F_RDLCK, 0, 0, 0, 0))
        self.say("start")
        for other in self._locks.glob(f"{self._common['task']}.*"):
            if other.name == own:
                continue
            descriptor = os.open(other, os.O_RDWR)
            # Asked for and not taken: another rank that asks in the same moment would take that for a run.
            asked = FLOCK.pack(fcntl.F_WRLCK, 0, 0, 0, 0)
            found = FLOCK.unpack(fcntl.fcntl(descriptor, fcntl.F_OFD_GETLK, asked))
            os.close(descriptor)
            if found[0] != fcntl.F_UNLCK:
                self.say("overlap", other=other.name)


def exactly(peer: socket.socket, count: int) -> bytes:
    """Receive so many bytes; raises ConnectionError."""
    found = b""
    while len(found) < count:
        more = peer.recv(count - len(found))
        if not more:
            raise ConnectionResetError("closed by the peer")
        found += more
    return found


def meet(place: Path, rank: int, ranks: int, hub: str) -> list[socket.socket]:
    """Connect the ranks of one attempt by a file with rank 0's address; ``hub``: any address there."""
    token = os.environ.get("WHESL_ATTEMPT_TOKEN", "none") + os.environ.get("SLURM_STEP_ID", "0")
    meeting = place / "locks" / f"meet-{hashlib.sha256(token.encode()).hexdigest()[:16]}"
    if rank == 0:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect((hub, 9))
            own = probe.getsockname()[0]
        server = socket.create_server((own, 0))
        server.settimeout(30)
        meeting.with_suffix(".new").write_text(f"{own} {server.getsockname()[1]}")
        meeting.with_suffix(".new").rename(meeting)
        peers: dict[int, socket.socket] = {}
        while len(peers) < ranks - 1:
            peer, _ = server.accept()
            peer.settimeout(None)
            peers[LENGTH.unpack(exactly(peer, 4))[0]] = peer
        return [peers[index] for index in range(1, ranks)]
    deadline = time.monotonic() + 30
    while not meeting.exists():
        if time.monotonic() > deadline:
            raise ConnectionError("rank 0 did not appear within 30 s")
        time.sleep(0.02)
    address, port = meeting.read_text().split()
    peer = socket.create_connection((address, int(port)), timeout=120)
    peer.settimeout(None)
    peer.sendall(LENGTH.pack(rank))
    return [peer]


def replace(path: Path, data: bytes) -> None:
    """Write a file so that it is whole or not there; a link is replaced, not followed."""
    new = path.with_name(path.name + ".new")
    with new.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    new.rename(path)


def lead(options: argparse.Namespace, peers: list[socket.socket], ledger: Ledger) -> None:
    """Be rank 0: collect, and write."""
    out: Path = options.out
    out.mkdir(parents=True, exist_ok=True)
    ranks = len(peers) + 1
    asked: Path = options.ledger / f"{options.task}.now"  # somebody asks for a checkpoint
    try:
        saved = json.loads((out / "checkpoint.json").read_text())
        cycle, state = saved["cycle"], saved["state"]
    except FileNotFoundError:
        inputs = [json.loads((place / "result.json").read_text())["state"] for place in options.input]
        cycle, state = 0, begin_state(options.task, inputs)
    print(f"start at cycle = {cycle} on {ranks} ranks", flush=True)
    for peer in peers:
        peer.sendall(LENGTH.pack(cycle))
    while cycle < options.cycles:
        shares = [share(options.task, 0, cycle), *(exactly(peer, 64).decode() for peer in peers)]
        state = digest(state, *shares)
        cycle += 1
        for peer in peers:
            peer.sendall(LENGTH.pack(cycle))
        due = cycle % options.checkpoint == 0 or cycle == options.cycles
        if due:
            replace(out / f"part-{cycle:04d}", part(state))
        if due or asked.exists():
            replace(out / "checkpoint.json", json.dumps({"cycle": cycle, "state": state}).encode())
        if asked.exists():
            replace(asked.with_suffix(".written"), str(cycle).encode())
            asked.unlink(missing_ok=True)
        print(f"cycle = {cycle}", flush=True)
        time.sleep(options.pace)
    replace(out / "result.json", json.dumps({"task": options.task, "state": state}).encode())
    ledger.say("end", state=state)
    print("finished", flush=True)


def follow(options: argparse.Namespace, rank: int, root: socket.socket) -> None:
    """Be any other rank."""
    cycle = LENGTH.unpack(exactly(root, 4))[0]
    while cycle < options.cycles:
        root.sendall(share(options.task, rank, cycle).encode())
        cycle = LENGTH.unpack(exactly(root, 4))[0]


def shed_environment() -> None:
    """Write over the environment that others see, as setproctitle does; ours was read at the start."""
    environment = ctypes.POINTER(ctypes.c_void_p).in_dll(ctypes.CDLL(None), "environ")
    index = 0
    while (text := environment[index]) is not None:
        ctypes.memset(text, 0, len(ctypes.string_at(text)))
        index += 1


def main() -> int:
    """Run one rank."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", required=True)
    parser.add_argument("--cycles", type=int, required=True)
    parser.add_argument("--checkpoint", type=int, default=5, help="cycles between checkpoints")
    parser.add_argument("--pace", type=float, default=0.1, help="seconds of a cycle")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--input", type=Path, action="append", default=[])
    parser.add_argument("--ledger", type=Path, required=True)
    parser.add_argument("--hub", required=True)
    parser.add_argument("--alone", action="store_true", help="not started by srun: one rank")
    parser.add_argument("--job", default="", help="of Slurm: the environment may not tell it")
    parser.add_argument("--shed", action="store_true", help="be found by nothing in the environment")
    options = parser.parse_args()
    if options.shed:
        shed_environment()
    rank = 0 if options.alone else int(os.environ["SLURM_PROCID"])
    ranks = 1 if options.alone else int(os.environ["SLURM_NTASKS"])
    ledger = Ledger(options.ledger, options.task, rank, socket.gethostname())
    ledger.enter()
    try:
        peers = meet(options.ledger, rank, ranks, options.hub) if ranks > 1 else []
        if rank == 0:
            lead(options, peers, ledger)
        else:
            follow(options, rank, peers[0])
    except (ConnectionError, TimeoutError) as error:
        print(f"rank {rank}: lost a peer: {error}", flush=True)
        return 3
    except OSError as error:
        print(f"rank {rank}: {error.strerror}", flush=True)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
