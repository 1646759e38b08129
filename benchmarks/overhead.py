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
from intervals import interval
from measure import RULES, Figure, Protected, arguments, median, run_parts, scratch, stamps, until

RATE = 10  # MB/s of log
# Per cent of a task of 30 s. The paper's figure for LULESH without any fault is 0.6.
MAKESPAN = 0.3
MEMORY = 45.0  # MB
SIGNS = f"at {RATE} MB/s of signs of life"
LINES = "beside a program that prints line by line"
# Per cent of one processor.
SHARES = {"at rest": 0.2, f"at {RATE} MB/s of log": 2.0, SIGNS: 2.0, LINES: 5.0}
# Each line of the log is what a hang's detection waits for.
_HANG = """\
DECLARE ENTITY WMS, JOB
DECLARE EXCEPTION_TYPE JOB_LEVEL
DECLARE RESOURCE JOB[REPLACE]
DECLARE EXCEPTION HANGS JOB_LEVEL JOB [app]
EXCEPTION DETECTION HANGS LOG "cycle = " stdout TIMEOUT 60
EXCEPTION RECOVERY STEP HANGS JOB JOB.REPLACE
"""
# As many lines as bash prints, each written by itself.
_PRINTER = """\
for ((;;)); do echo "step of a solver: residual 0.000123, norm 1.2345, time 12.25 s"; done
"""
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
# So much work that it takes the processor for these seconds; a line now and then, and how often at last.
_WORK = """\
import sys, time
total = cycle = 0
while time.process_time() < float(sys.argv[1]):
    for number in range(200_000):
        total += number * number % 7
    cycle += 1
    print("cycle =", cycle, total, flush=True)
"""


def main() -> None:
    """Measure."""
    parts = [
        ("at rest", lambda quick: _beside("at rest", ["sleep", "600"], quick)),
        (f"at {RATE} MB/s", lambda quick: _writing(f"at {RATE} MB/s of log", RULES, quick)),
        ("signs of life", lambda quick: _writing(SIGNS, _HANG, quick)),
        ("line by line", lambda quick: _beside(LINES, ["bash", "-c", _PRINTER], quick)),
        ("start and end", _start_and_end),
        ("makespan", _makespan),
    ]
    run_parts(arguments("What protection costs."), parts)


def _writing(what: str, rules: str, quick: bool) -> list[Figure]:
    return _beside(what, [sys.executable, "-c", _WRITER, "600", str(RATE)], quick, rules)


def _beside(what: str, command: Sequence[str], quick: bool, rules: str = RULES) -> list[Figure]:
    """Look at an isolator beside a task."""
    seconds = 5.0 if quick else 20.0
    with scratch() as place:
        made = Protected(place, rules)
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
                own = isolator.memory_info().rss / 1e6
                keeper = psutil.Process(child.pid).memory_info().rss / 1e6
            finally:
                child.terminate()
                child.wait()
    used = (after.user + after.system - before.user - before.system) / seconds * 100
    return [
        Figure(
            f"isolator's memory {what}", own, "MB", MEMORY, note=f"resident; its keeper {keeper:.0f} more"
        ),
        Figure(f"isolator's share of one processor {what}", used, "%", SHARES[what]),
    ]


def _script(place: Path, command: Sequence[str]) -> Path:
    import shlex

    script = place / "program"
    script.write_text(f"#!/bin/sh\nexec {shlex.join(command)}\n")
    script.chmod(0o755)
    return script


def _makespan(quick: bool) -> list[Figure]:
    """Run the same command with and without protection, by turns, each first as often as the other.

    Machines change their speed from one run to the next by more than what is looked for (a virtual one by
    tenths). So the work is so many seconds of the processor, and what that got done in them is told beside.
    """
    pairs, seconds = (3, 3.0) if quick else (10, 30.0)
    taken: dict[str, list[float]] = {"bare": [], "protected": []}
    done: dict[str, list[int]] = {"bare": [], "protected": []}
    for number in range(pairs):
        for which in sorted(taken, reverse=bool(number % 2)):
            with scratch() as place:
                script = _script(place, [sys.executable, "-c", _WORK, str(seconds)])
                command = [str(script)] if which == "bare" else Protected(place).command(script)
                taken[which].append(_timed(command, place))
                done[which].append(len((place / "out").read_text().splitlines()))
    longer = _more(taken["bare"], taken["protected"])
    slower = _more(done["protected"], done["bare"])
    return [
        Figure("the bare command, median", median(taken["bare"]), "s"),
        Figure("the same protected, median", median(taken["protected"]), "s", note=f"{pairs} pairs"),
        Figure(
            "longer by, median",
            median(longer),
            "%",
            None if quick else MAKESPAN,
            note=f"{_spread(longer)}; all of it, start and end",
        ),
        Figure("less done by the processor in that time, median", median(slower), "%", note=_spread(slower)),
    ]


def _more(less: Sequence[float], more: Sequence[float]) -> list[float]:
    return [(much / little - 1) * 100 for little, much in zip(less, more, strict=True)]


def _spread(shares: list[float]) -> str:
    low, high = interval(shares)
    return f"{low:.2f} to {high:.2f} with 95 %"


# The clock before the first thing it does and after the last.
_BRIEF = """\
#!/bin/bash
echo "$EPOCHREALTIME first"
sleep {seconds}
echo "$EPOCHREALTIME last"
"""


def _start_and_end(quick: bool) -> list[Figure]:
    """Look at both ends of a short task: what comes before its first instruction and after its last."""
    times = 5 if quick else 30
    before: dict[str, list[float]] = {"bare": [], "protected": []}
    after: dict[str, list[float]] = {"bare": [], "protected": []}
    for _ in range(times):
        for which in before:
            with scratch() as place:
                script = place / "program"
                # Longer than an isolator takes to load: a task that ends sooner waits for that.
                script.write_text(_BRIEF.format(seconds=2))
                script.chmod(0o755)
                protected = which == "protected"
                command = Protected(place).command(script) if protected else [str(script)]
                begun = time.time()
                _timed(command, place)
                ended = time.time()
                first, last = (stamp for stamp, _ in stamps(place / "out"))
            before[which].append(first - begun)
            after[which].append(ended - last)
    return [
        Figure(
            f"{what}, protected, median",
            median(found["protected"]) * 1e3,
            "ms",
            floor=median(found["bare"]) * 1e3,
        )
        for what, found in (("call to first instruction", before), ("last instruction to the caller", after))
    ]


def _timed(command: Sequence[str], place: Path) -> float:
    with (place / "out").open("wb") as out:
        begun = time.perf_counter()
        subprocess.run(command, check=True, cwd=place, stdout=out, stderr=subprocess.DEVNULL)
        return time.perf_counter() - begun


if __name__ == "__main__":
    main()
