"""A parallel heat equation: Jacobi iterations on a square plate, rows shared out over the ranks.

It runs under any launcher that sets the variables of Slurm, Flux or PMI. Ranks find each other through a
file in the working directory and exchange their border rows over TCP by way of rank 0, so that a rank
that dies or stops stops all, as in MPI. Every ``--checkpoint`` cycles rank 0 writes the whole plate; a start
continues from the last checkpoint, with any number of ranks. The result does not depend on the number
of ranks nor on restarts, to the last bit.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import socket
import struct
import sys
import time
from array import array
from pathlib import Path
from typing import TypeAlias

LENGTH = struct.Struct("!I")
CHECKPOINT = Path("checkpoint.json")
Row: TypeAlias = "array[float]"


def send(peer: socket.socket, rows: list[Row]) -> None:
    """Send rows of one width."""
    data = b"".join(row.tobytes() for row in rows)
    peer.sendall(LENGTH.pack(len(data)) + data)


def receive(peer: socket.socket, width: int) -> list[Row]:
    """Receive rows; raises ConnectionError when the peer has gone."""
    data = _exactly(peer, LENGTH.unpack(_exactly(peer, LENGTH.size))[0])
    values = array("d", data)
    return [values[i : i + width] for i in range(0, len(values), width)]


def _exactly(peer: socket.socket, count: int) -> bytes:
    parts = []
    while count:
        part = peer.recv(count)
        if not part:
            raise ConnectionResetError("closed by the peer")
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def relax(above: Row, rows: list[Row], below: Row) -> list[Row]:
    """Return the rows after one Jacobi iteration; the plate's left and right edges are kept."""
    padded = [above, *rows, below]
    result = []
    for up, row, down in zip(padded, rows, padded[2:], strict=False):
        inner = (0.25 * (up[i] + down[i] + row[i - 1] + row[i + 1]) for i in range(1, len(row) - 1))
        result.append(array("d", [row[0], *inner, row[-1]]))
    return result


def initial(size: int) -> list[Row]:
    """Return the plate at the start: a warm left edge, a hot spot, cold elsewhere."""
    plate = [array("d", [100.0] + [0.0] * (size - 1)) for _ in range(size)]
    plate[size // 3][size // 2] = 1000.0
    return plate


def share(size: int, ranks: int) -> list[tuple[int, int]]:
    """Return the range of rows of each rank."""
    return [(size * rank // ranks, size * (rank + 1) // ranks) for rank in range(ranks)]


def identity() -> tuple[int, int]:
    """Return rank and number of ranks. Flux comes first: a job of Slurm may hold an instance of it."""
    for rank, ranks in (
        ("FLUX_TASK_RANK", "FLUX_JOB_SIZE"),
        ("SLURM_PROCID", "SLURM_NTASKS"),
        ("PMI_RANK", "PMI_SIZE"),
    ):
        if rank in os.environ and ranks in os.environ:
            return int(os.environ[rank]), int(os.environ[ranks])
    return 0, 1


def meet(rank: int, ranks: int) -> list[socket.socket]:
    """Connect: rank 0 returns its peers in order of rank, the others the connection to rank 0."""
    key = os.environ.get("WHESL_ATTEMPT_TOKEN") or os.environ.get(
        "FLUX_JOB_ID", os.environ.get("SLURM_STEP_ID", "0")
    )
    place = Path(f".ranks.{hashlib.sha256(key.encode()).hexdigest()[:16]}")
    if rank == 0:
        server = socket.create_server(("127.0.0.1", 0))
        place.with_suffix(".new").write_text(str(server.getsockname()[1]))
        place.with_suffix(".new").rename(place)
        peers: dict[int, socket.socket] = {}
        while len(peers) < ranks - 1:
            peer, _ = server.accept()
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            peers[LENGTH.unpack(_exactly(peer, LENGTH.size))[0]] = peer
        place.unlink()
        return [peers[index] for index in range(1, ranks)]
    deadline = time.monotonic() + 60
    while not place.exists():
        if time.monotonic() > deadline:
            raise ConnectionError("rank 0 did not appear within 60 s")
        time.sleep(0.01)
    peer = socket.create_connection(("127.0.0.1", int(place.read_text())))
    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    peer.sendall(LENGTH.pack(rank))
    return [peer]


def load(size: int) -> tuple[int, list[Row]]:
    """Return cycle and plate of the last checkpoint, or the start."""
    try:
        saved = json.loads(CHECKPOINT.read_text())
    except FileNotFoundError:
        return 0, initial(size)
    return saved["cycle"], [array("d", map(float.fromhex, row)) for row in saved["plate"]]


def save(cycle: int, plate: list[Row]) -> None:
    """Write a checkpoint; the old one stays until the new one is whole."""
    part = CHECKPOINT.with_suffix(".part")
    with part.open("w") as file:
        json.dump({"cycle": cycle, "plate": [[value.hex() for value in row] for row in plate]}, file)
        file.flush()
        os.fsync(file.fileno())
    part.rename(CHECKPOINT)


def lead(options: argparse.Namespace, peers: list[socket.socket]) -> None:
    """Be rank 0: a worker, the switch between the others, and the one who writes."""
    size = options.size
    ranges = share(size, len(peers) + 1)
    cycle, plate = load(size)
    print(f"start at cycle = {cycle} on {len(ranges)} ranks", flush=True)
    for peer in peers:
        send(peer, [array("d", [float(cycle)] * size)])
    for peer, (first, last) in zip(peers, ranges[1:], strict=True):
        send(peer, plate[first:last])
    rows = plate[: ranges[0][1]]
    while cycle < options.cycles:
        borders = [[rows[0], rows[-1]], *(receive(peer, size) for peer in peers)]
        for index, peer in enumerate(peers, start=1):
            below = borders[index + 1][0] if index + 1 < len(borders) else plate[size - 1]
            send(peer, [borders[index - 1][1], below])
        below = borders[1][0] if peers else plate[size - 1]
        top, bottom = rows[0], rows[-1]
        rows = relax(top, rows, below)
        rows[0] = top  # the plate's upper edge is kept
        if not peers:
            rows[-1] = bottom
        cycle += 1
        if cycle % options.checkpoint == 0 or cycle == options.cycles:
            whole: list[Row] = [*rows, *(row for peer in peers for row in receive(peer, size))]
            plate = whole
            save(cycle, whole)
        if cycle % options.report == 0:
            print(f"cycle = {cycle}", flush=True)
        time.sleep(options.pace)
    text = "\n".join(" ".join(value.hex() for value in row) for row in plate)
    digest = hashlib.sha256(text.encode()).hexdigest()
    Path(options.result).write_text(json.dumps({"cycles": cycle, "sha256": digest}) + "\n")
    print(f"finished, {digest[:16]}", flush=True)


def follow(options: argparse.Namespace, rank: int, ranks: int, root: socket.socket) -> None:
    """Be any other rank."""
    size = options.size
    cycle = int(receive(root, size)[0][0])
    rows = receive(root, size)
    while cycle < options.cycles:
        send(root, [rows[0], rows[-1]])
        above, below = receive(root, size)
        bottom = rows[-1]
        rows = relax(above, rows, below)
        if rank == ranks - 1:
            rows[-1] = bottom  # the plate's lower edge is kept
        cycle += 1
        if cycle % options.checkpoint == 0 or cycle == options.cycles:
            send(root, rows)


def main() -> int:
    """Run one rank."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=48, help="rows and columns of the plate")
    parser.add_argument("--cycles", type=int, default=100)
    parser.add_argument("--checkpoint", type=int, default=10, help="cycles between checkpoints")
    parser.add_argument("--report", type=int, default=5, help="cycles between lines of output")
    parser.add_argument("--pace", type=float, default=0.02, help="seconds added to each cycle")
    parser.add_argument("--result", default="result.json")
    options = parser.parse_args()
    rank, ranks = identity()
    node = os.environ.get("SLURMD_NODENAME") or socket.gethostname()
    Path(f"rank-{rank}.pid").write_text(f"{node} {os.getpid()}\n")
    try:
        peers = meet(rank, ranks)
        if rank == 0:
            lead(options, peers)
        else:
            follow(options, rank, ranks, peers[0])
    except ConnectionError as error:
        print(f"rank {rank} on {node}: lost a peer: {error}", file=sys.stderr, flush=True)
        return 1
    except OSError as error:
        print(f"rank {rank} on {node}: cannot write: {error.strerror}", file=sys.stderr, flush=True)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
