"""What protection costs: the isolator's memory and processor time, and the time of a command without faults.

python benchmarks/overhead.py [--quick] [--json FILE] [--only WORD]
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import psutil
from measure import Figure, Protected, arguments, median, run_parts, scratch, until

RATE = 10  # MB/s of log
# The paper's figure for LULESH without any fault, per cent.
MAKESPAN = 0.6
_WRITER = """\
import sys, time
line = b"cycle = 1234 dt = 1.234567e-03 residual = 1.234567890e-09 norm = 2.345678901e+01 and so on\\n"
block = line * (100_000 // len(line))
begun, written = time.monotonic(), 0
while time.monotonic() < begun + float(sys.argv[1]):
    sys.stdout.buffer.write(block)
    sys.stdout.buffer.flush()
    written += len(block)
    time.sleep(max(0.0, begun + written / float(sys.argv[2]) / 1e6 - time.monotonic()))
"""
# Work that takes the processor and prints a line now and then.
_WORK = """\
import sys
total = 0
for cycle in range(int(sys.argv[1])):
    for number in range(200_000):
        total += number * number % 7
    print("cycle =", cycle, total, flush=True)
"""


def main() -> None:
    """Measure."""
    parts = [
        ("at rest", lambda quick: _beside("at rest", ["sleep", "600"], quick)),
        (f"at {RATE} MB/s", _writing),
        ("makespan", _makespan),
    ]
    run_parts(arguments("What protection costs."), parts)


def _writing(quick: bool) -> list[Figure]:
    command = [sys.executable, "-c", _WRITER, "600", str(RATE)]
    return _beside(f"at {RATE} MB/s of log", command, quick)


def _beside(what: str, command: Sequence[str], quick: bool) -> list[Figure]:
    """Look at an isolator beside a task."""
    seconds = 5.0 if quick else 20.0
    with scratch() as place:
        made = Protected(place)
        script = _script(place, command)
        with (place / "out").open("wb") as out:
            child = subprocess.Popen(
                made.command(script), cwd=place, stdout=out, stderr=subprocess.DEVNULL, start_new_session=True
            )
            try:
                until(lambda: "launched" in made.kinds(), "the task's start")
                owner = made.directory.owner()
                assert owner is not None
                isolator = psutil.Process(owner.pid)
                time.sleep(2.0)
                before = isolator.cpu_times()
                time.sleep(seconds)
                after = isolator.cpu_times()
                memory = isolator.memory_info().rss + sum(
                    process.memory_info().rss for process in (psutil.Process(child.pid),)
                )
                own = isolator.memory_info().rss
            finally:
                child.terminate()
                child.wait()
    used = (after.user + after.system - before.user - before.system) / seconds * 100
    return [
        Figure(f"isolator's memory {what}", own / 2**20, "MiB", note=f"with the keeper {memory / 2**20:.0f}"),
        Figure(f"isolator's share of one processor {what}", used, "%"),
    ]


def _script(place: Path, command: Sequence[str]) -> Path:
    import shlex

    script = place / "program"
    script.write_text(f"#!/bin/sh\nexec {shlex.join(command)}\n")
    script.chmod(0o755)
    return script


def _makespan(quick: bool) -> list[Figure]:
    """Run the same command with and without protection, by turns."""
    rounds, cycles = (2, 100) if quick else (7, 800)
    bare: list[float] = []
    guarded: list[float] = []
    nothing: list[float] = []
    for _ in range(rounds):
        with scratch() as place:
            script = _script(place, [sys.executable, "-c", _WORK, str(cycles)])
            bare.append(_timed([str(script)], place))
            guarded.append(_timed(Protected(place).command(script), place))
        with scratch() as place:
            nothing.append(_timed(Protected(place).command(_script(place, ["true"])), place))
    start = median(nothing)
    extra = median([with_ - without for without, with_ in zip(bare, guarded, strict=True)])
    # What comes once, at the start and the end, is shown apart: it does not grow with the task.
    growing = max(extra - start, 0.0) / median(bare) * 100
    return [
        Figure("a command that does nothing, protected", start, "s"),
        Figure("the bare command", median(bare), "s"),
        Figure("the same protected, more by", extra, "s", floor=start),
        Figure("the same without what comes once, of the bare command", growing, "%", MAKESPAN),
    ]


def _timed(command: Sequence[str], place: Path) -> float:
    with (place / "out").open("wb") as out:
        begun = time.perf_counter()
        subprocess.run(command, check=True, cwd=place, stdout=out, stderr=subprocess.DEVNULL)
        return time.perf_counter() - begun


if __name__ == "__main__":
    main()
