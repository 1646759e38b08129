"""One rank of the demo: ``ckpt_rank.py RANK RANKS BUCKET``. Counts, and writes what it is asked for.

The bucket is a file of two doubles that all ranks share: the bandwidth of their file system in bytes a second
(0: any), and when its next byte may be written. So all ranks together write no faster than one disk would.
"""

from __future__ import annotations

import fcntl
import struct
import sys
import time
from pathlib import Path

from whesl.api.checkpoints import Client, CommitError

BYTES = 6_000_000
CHUNK = 100_000
BURST = 0.05  # seconds for which a writer may be late
_BUCKET = struct.Struct("=dd")


def take(bucket: Path, size: int) -> None:
    """Wait until so many bytes may be written."""
    with bucket.open("r+b", buffering=0) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        rate, free = _BUCKET.unpack(file.read(_BUCKET.size))
        if rate <= 0:
            return
        end = max(free, time.monotonic() - BURST) + size / rate
        file.seek(0)
        file.write(_BUCKET.pack(rate, end))
    time.sleep(max(end - time.monotonic(), 0.0))


def main() -> None:
    """Run."""
    rank, ranks, bucket = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
    client = Client(rank, ranks)
    step = 0
    if (restored := client.restore()) is not None:
        with restored.open("rb") as file:
            step = int(file.readline())
        print(f"rank {rank} goes on at step {step} of checkpoint {client.epoch}", flush=True)
    else:
        print(f"rank {rank} begins", flush=True)
    while True:
        time.sleep(0.02)
        step += 1
        reached = Path(f"reached-{rank}")
        reached.write_text(str(step))
        reached.rename(f"step-{rank}")
        if not client.poll():
            continue
        try:
            with client.path.open("wb") as file:
                file.write(f"{step}\n".encode())
                for _ in range(0, BYTES, CHUNK):
                    take(bucket, CHUNK)
                    file.write(bytes(CHUNK))
            client.commit(client.path)
        except (OSError, CommitError) as error:
            client.give_up(str(error))


main()
