"""The program that the benchmarks of whole workflows run: cycles with a file each, and checkpoints.

    python worker.py --out DIR --stamps FILE --cycles 60 --pace 0.5 --checkpoint 4 --block 65536

Each cycle takes ``--pace`` seconds and writes one file of ``--block`` bytes; every ``--checkpoint`` cycles
it writes down how far it is, and a start goes on from there. It waits rather than computes, so that what
else runs on the machine changes its time as little as can be. Times of its own steps go to ``--stamps``,
one a line: seconds since the epoch and a word. Under a launcher the first rank works and waits in each
cycle for all others, as a parallel program would.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
import time
from pathlib import Path

LOOK = 0.01  # seconds between two looks of a rank at another


def main() -> int:
    """Run one rank. The exit status is 1 when a file cannot be written."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="where the files go")
    parser.add_argument("--stamps", type=Path, required=True)
    parser.add_argument("--cycles", type=int, required=True)
    parser.add_argument("--pace", type=float, required=True, help="seconds of each cycle")
    parser.add_argument("--checkpoint", type=int, required=True, help="cycles between checkpoints")
    parser.add_argument("--block", type=int, default=65536, help="bytes of each cycle's file")
    parser.add_argument("--older", type=Path, help="take the files from here when there are none in --out")
    parser.add_argument("--input", type=Path, action="append", default=[], help="has to hold a result")
    parser.add_argument("--meet", type=Path, help="directory where ranks tell each other how far they are")
    parser.add_argument("--fault", choices=("crash", "hang"), help="of the last rank, once")
    parser.add_argument("--fault-cycle", type=int, default=0)
    parser.add_argument("--fault-mark", type=Path, help="file that says that the fault has been")
    options = parser.parse_args()
    stamp(options, "start")
    rank, ranks = int(os.environ.get("SLURM_PROCID", "0")), int(os.environ.get("SLURM_NTASKS", "1"))
    if options.meet is None:
        rank, ranks = 0, 1
    if rank:
        return follow(options, rank, ranks)
    try:
        lead(options, ranks)
    except OSError as error:
        print(f"cannot go on: {error.strerror}: {error.filename}", flush=True)
        stamp(options, "failed")
        return 1
    return 0


def stamp(options: argparse.Namespace, word: str) -> None:
    """Write down that something has happened now."""
    with options.stamps.open("a") as file:
        file.write(f"{time.time():.6f} {word}\n")


def write(path: Path, text: str) -> None:
    """Replace a file at once."""
    part = path.with_suffix(".part")
    part.write_text(text)
    part.replace(path)


def read(path: Path) -> int:
    """Return the number in a file, -1 without one."""
    try:
        return int(path.read_text())
    except FileNotFoundError:
        return -1


def meeting(options: argparse.Namespace, rank: int) -> Path:
    """Return the file in which a rank of this very start tells its cycle."""
    names = ("SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_RESTART_COUNT", "WHESL_RESTART_COUNT")
    start = "-".join(os.environ.get(name, "0") for name in names)
    return Path(options.meet) / f"{start}.{rank}"


def lead(options: argparse.Namespace, ranks: int) -> None:
    """Be the first rank: the one who writes."""
    for place in options.input:
        if read(place / "result") < 0:
            raise FileNotFoundError(2, "no result", str(place))
    options.out.mkdir(parents=True, exist_ok=True)
    if options.older and not (options.out / "checkpoint").exists():
        for path in options.older.iterdir() if options.older.exists() else ():
            shutil.copy(path, options.out)
    cycle = max(read(options.out / "checkpoint"), 0)
    print(f"start at cycle = {cycle}", flush=True)
    while cycle < options.cycles:
        cycle += 1
        together(options, cycle, ranks)
        time.sleep(options.pace)
        (options.out / f"cycle-{cycle}").write_bytes(bytes([cycle % 256]) * options.block)
        if cycle % options.checkpoint == 0 or cycle == options.cycles:
            write(options.out / "checkpoint", str(cycle))
            stamp(options, "checkpoint")
        print(f"cycle = {cycle}", flush=True)
    write(options.out / "result", str(cycle))
    together(options, options.cycles + 1, ranks)
    stamp(options, "end")


def together(options: argparse.Namespace, cycle: int, ranks: int) -> None:
    """Tell the others the cycle and wait until all are there."""
    if ranks == 1:
        return
    write(meeting(options, 0), str(cycle))
    for rank in range(1, ranks):
        while read(meeting(options, rank)) < cycle:
            time.sleep(LOOK)


def follow(options: argparse.Namespace, rank: int, ranks: int) -> int:
    """Be any other rank: go along until the first has done all cycles."""
    cycle = 0
    while cycle <= options.cycles:
        if (now := read(meeting(options, 0))) <= cycle:
            time.sleep(LOOK)
            continue
        cycle = now
        if rank == ranks - 1 and cycle == options.fault_cycle:
            fail(options)
        write(meeting(options, rank), str(cycle))
    return 0


def fail(options: argparse.Namespace) -> None:
    """Let the fault happen, unless it has been."""
    if options.fault is None or options.fault_mark.exists():
        return
    options.fault_mark.touch()
    stamp(options, "failed")
    if options.fault == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    while True:
        signal.pause()


if __name__ == "__main__":
    sys.exit(main())
