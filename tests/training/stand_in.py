"""Stands in for a script that trains with PyTorch: ranks that wait for each other, checkpoints, real words.

Ranks find the first one by MASTER_ADDR and MASTER_PORT, and wait for all others at each step. They print what
PyTorch 2.13 prints with gloo when one is gone. FAULTS has one KIND:RANK:STEP for each attempt. ``shm`` does
not happen without processes that load data (LOADERS is 0).
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import time
from pathlib import Path

GLOO = "/__w/pytorch/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:553"
STEPS = int(os.environ.get("STEPS", "20"))
EVERY = 5
CHECKPOINT = Path("checkpoint.json")
RANK, WORLD = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))


class PeerGoneError(Exception):
    """A connection was closed."""


def meet() -> list[socket.socket]:
    """Return connections: of the first rank to all others, of each other one to the first."""
    address = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
    if RANK:
        until = time.monotonic() + 30
        while True:
            try:
                return [socket.create_connection(address, timeout=5)]
            except OSError:
                if time.monotonic() >= until:
                    raise
                time.sleep(0.05)
    server = socket.socket()
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        server.bind(("", address[1]))
    except OSError:
        fail(
            "torch.distributed.DistNetworkError: The server socket has failed to listen on any local network "
            f"address. port: {address[1]}, useIpv6: false, code: -98, name: EADDRINUSE, "
            "message: address already in use"
        )
    server.listen(WORLD)
    return [server.accept()[0] for _ in range(WORLD - 1)]


def all_reduce(peers: list[socket.socket]) -> None:
    """Wait until every rank has come here."""
    for _ in range(2):
        for peer in peers:
            peer.settimeout(None)
            try:
                peer.sendall(b"x")
                if not peer.recv(1):
                    raise PeerGoneError
            except ConnectionError:
                raise PeerGoneError from None


def fail(line: str) -> None:
    """End as a script with an error that nobody catches."""
    sys.stderr.write(f"[rank{RANK}]: Traceback (most recent call last):\n[rank{RANK}]: {line}\n")
    sys.stderr.flush()
    os._exit(1)


def strike(step: int) -> None:
    """Let happen what FAULTS says of this attempt."""
    faults = os.environ.get("FAULTS", "").split()
    attempt = int(os.environ["WHESL_RESTART_COUNT"])
    kind, rank, at = (faults[attempt] if attempt < len(faults) else "none:0:0").split(":")
    if (int(rank), int(at)) != (RANK, step):
        return
    if kind == "nan":
        print(f"step {step} loss nan", flush=True)
        fail("RuntimeError: loss is NaN")
    if kind == "shm" and os.environ.get("LOADERS", "4") != "0":
        fail(
            "RuntimeError: unable to allocate shared memory(shm) for file </torch_1127_3670614928_0>: "
            "No space left on device (28)"
        )
    if kind == "bug":
        fail("ValueError: the batch has 3 columns, 4 are needed")
    if kind == "loader":
        fail(f"RuntimeError: DataLoader worker (pid {os.getpid()}) is killed by signal: Killed. ")
    if kind == "kill":
        os.kill(os.getpid(), signal.SIGKILL)


def train() -> None:
    """Do one rank's part."""
    peers = meet()
    done = json.loads(CHECKPOINT.read_text()) if CHECKPOINT.exists() else 0
    for step in range(done + 1, STEPS + 1):
        strike(step)
        try:
            all_reduce(peers)
        except PeerGoneError:
            fail(f"RuntimeError: [{GLOO}] Connection closed by peer [127.0.0.1]:36545. GLHF!")
        if RANK == 0:
            print(f"step {step} loss {1 / step:.4f}", flush=True)
            if step % EVERY == 0:
                new = CHECKPOINT.with_suffix(".new")
                new.write_text(json.dumps(step))
                new.replace(CHECKPOINT)
        time.sleep(0.01)


def elastic(ranks: int) -> int:
    """Start the ranks of one host as torchrun does: when one has failed, the others are ended."""
    children = {}
    for rank in range(ranks):
        environment = {**os.environ, "RANK": str(rank), "WORLD_SIZE": str(ranks)}
        children[rank] = os.spawnve(os.P_NOWAIT, sys.executable, [sys.executable, __file__], environment)
    failed = 0
    while children:
        pid, status = os.wait()
        rank = next(rank for rank, child in children.items() if child == pid)
        del children[rank]
        if status and not failed:
            failed = os.waitstatus_to_exitcode(status)
            print(
                f"E1128 api.py:1002] failed (exitcode: {failed}) local_rank: {rank} (pid: {pid})",
                file=sys.stderr,
            )
            time.sleep(0.1)  # the others say what they see
            for child in children.values():
                os.kill(child, signal.SIGTERM)
    if failed:
        print("torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    if sys.argv[1:]:
        sys.exit(elastic(int(sys.argv[1])))
    train()
