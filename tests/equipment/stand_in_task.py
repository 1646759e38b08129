"""A program that stands in for a workflow's.

``python stand_in_task.py SECONDS LEDGER -r IN -w OUT:SIZE``.

It computes for that long, and writes files whose content follows from its inputs' content and their names, so
that what a whole workflow has to come to is known without running it. Each run adds a line to a ledger.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

ROUNDS = 2000
_PIECE = 64


def content(outputs: Mapping[str, int], inputs: Iterable[bytes]) -> dict[str, bytes]:
    """Return the content of outputs (name: size in bytes) that follows from inputs."""
    found = hashlib.sha256(" ".join(sorted(outputs)).encode())
    for one in inputs:
        found.update(hashlib.sha256(one).digest())
    value = found.digest()
    for _ in range(ROUNDS):
        value = hashlib.sha256(value).digest()
    made = {}
    for name, size in outputs.items():
        piece = hashlib.sha256(value + name.encode()).hexdigest().encode()
        made[name] = (piece * (size // _PIECE + 1))[:size]
    return made


def command(
    seconds: float, ledger: Path, inputs: Sequence[str], outputs: Mapping[str, int]
) -> tuple[str, ...]:
    """Return the command of a stand-in."""
    words = [sys.executable, str(Path(__file__).resolve()), f"{seconds:g}", str(ledger)]
    words += ["-r", *inputs] if inputs else []
    words += ["-w", *(f"{name}:{size}" for name, size in outputs.items())] if outputs else []
    return tuple(words)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a stand-in."""
    parser = argparse.ArgumentParser(prog="standin")
    parser.add_argument("seconds", type=float)
    parser.add_argument("ledger", type=Path)
    parser.add_argument("-r", "--read", nargs="*", default=[])
    parser.add_argument("-w", "--write", nargs="*", default=[])
    given = parser.parse_args(arguments)
    outputs = {name: int(size) for name, _, size in (one.rpartition(":") for one in given.write)}
    began = time.time()
    made = content(outputs, [Path(name).read_bytes() for name in given.read])
    limit = began + given.seconds
    while time.time() < limit:
        time.sleep(min(0.05, max(0.0, limit - time.time())))
    for name, data in made.items():
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_name(f".{path.name}.{os.getpid()}")
        fresh.write_bytes(data)
        fresh.replace(path)
    line = json.dumps({"outputs": sorted(outputs), "began": began, "ended": time.time(), "pid": os.getpid()})
    # One write below the size of a page: lines of several processes do not mix.
    descriptor = os.open(given.ledger, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(descriptor, (line + "\n").encode())
    os.close(descriptor)


if __name__ == "__main__":
    main()
