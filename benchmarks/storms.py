"""What an isolator makes of a program that prints one matching line after the other, as fast as it can.

    python benchmarks/storms.py [--quick] [--json FILE] [--only WORD]

Beside each figure stands what hyperscan alone needs to count the matches in the same bytes, in memory.
"""

from __future__ import annotations

import json
import signal
import subprocess
import time
from functools import partial
from pathlib import Path

import hyperscan
from measure import Figure, Part, Protected, arguments, run_parts, scratch, until

from whesl.language.pattern_and_stream_records import Pattern
from whesl.runtime.detect.matcher import compile_patterns

COUNTS = (100_000, 1_000_000, 10_000_000)
TARGET = 1.0  # second
_TEXT = "bench: boom"
_BLOCK = 1 << 20
# It stays, so that what is measured is not its end.
_PROGRAM = """\
#!/bin/bash
echo $EPOCHREALTIME >> {place}/starts
[ "$WHESL_RESTART_COUNT" = 0 ] || [ -n "{observed}" ] || exit 0
cat {log}
touch {place}/printed
exec sleep 300
"""


def main() -> None:
    """Measure."""
    parts: list[Part] = [(f"{count} lines", partial(_storm, count)) for count in COUNTS]
    run_parts(arguments("Storms of matching lines."), parts)


def _storm(count: int, quick: bool) -> list[Figure]:
    if quick and count > COUNTS[0]:
        return []
    with scratch() as place:
        log = place / "log"
        with log.open("w") as file:
            file.writelines(f"[{number:9d}] {_TEXT} in the solver\n" for number in range(count))
        floor = _alone(log)
        raised, restarted = _recovered(place, log)
        watched, ended = _observed(place, log)
    name = f"{count:,} lines"
    return [
        Figure(f"{name}: first line to exception", raised, "s", TARGET, floor=floor),
        Figure(f"{name}: exception to restart", restarted, "s", TARGET, floor=floor),
        Figure(f"{name}, observed: last line to all read", watched, "s", floor=floor),
        Figure(f"{name}, observed: SIGTERM to the end", ended, "s", TARGET, floor=floor),
    ]


def _alone(log: Path) -> float:
    """Return the seconds of processor that the raw matcher takes for all of it."""
    assert compile_patterns([Pattern(text=_TEXT)]).engine is not None  # the same engine is here
    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    database.compile(expressions=[_TEXT.encode()], ids=[0], elements=1, flags=0)
    found = 0

    def count(*_: object) -> None:
        nonlocal found
        found += 1

    content = log.read_bytes()
    begun = time.process_time()
    for begin in range(0, len(content), _BLOCK):
        database.scan(content[begin : begin + _BLOCK], match_event_handler=count)
    return time.process_time() - begun


def _recovered(place: Path, log: Path) -> tuple[float, float]:
    """Return the seconds from the first start to the exception, and from there to the next start."""
    made, script = _program(place, log, "recovered")
    with (made.place / "out").open("wb") as out:
        subprocess.run(
            made.command(script), check=True, cwd=made.place, stdout=out, stderr=subprocess.DEVNULL
        )
    first, second = (float(line) for line in (made.place / "starts").read_text().splitlines())
    (raised,) = made.times("raised")
    return raised - first, second - raised


def _observed(place: Path, log: Path) -> tuple[float, float]:
    """Return the seconds from the last line until the isolator rests, and from SIGTERM to the end."""
    made, script = _program(place, log, "observed")
    with (made.place / "out").open("wb") as out:
        command = made.command(script, "--observe")
        child = subprocess.Popen(command, cwd=made.place, stdout=out, stderr=subprocess.DEVNULL)
        until((made.place / "printed").exists, "the last line", 300)
        printed = time.monotonic()
        until(lambda: _offset(made) >= log.stat().st_size, "all of it read", 300)
        read = time.monotonic() - printed
        asked = time.monotonic()
        child.send_signal(signal.SIGTERM)
        child.wait()
    return read, time.monotonic() - asked


def _program(place: Path, log: Path, name: str) -> tuple[Protected, Path]:
    own = place / name
    own.mkdir()
    script = own / "program"
    script.write_text(_PROGRAM.format(place=own, log=log, observed="yes" if name == "observed" else ""))
    return Protected(own), script


def _offset(made: Protected) -> int:
    """Return how far the isolator has read, as it writes it down once a second."""
    try:
        state = json.loads((made.directory.attempt(1) / "watch.json").read_text())
    except (OSError, ValueError):
        return 0
    return max((int(file["offset"]) for file in state["files"]), default=0)


if __name__ == "__main__":
    main()
