"""How many bytes of log are read, matched and judged in a second, against hyperscan alone on the same bytes.

Seconds of processor time, the kernel's for reading included, so that other load tells less.

python benchmarks/throughput.py [--quick] [--json FILE] [--only WORD]
"""

from __future__ import annotations

import random
import subprocess
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import hyperscan
from measure import Figure, Part, Protected, arguments, median, run_parts, scratch

from whesl.language.detections.log import LogDetection
from whesl.language.pattern_and_stream_records import Pattern, Source, Stream
from whesl.language.rules_file import load_rules
from whesl.language.spec import Spec
from whesl.model.workflow import Task
from whesl.runtime.detect.regex_canonical_form import canonical
from whesl.runtime.detect.task_watch import Watch

COUNTS = (1, 50, 250)
SHARE = 60.0  # per cent of hyperscan alone
BLOCK = 1 << 20
ROUNDS = 9
_HEAD = """\
DECLARE ENTITY WMS, JOB
DECLARE EXCEPTION_TYPE JOB_LEVEL
DECLARE RESOURCE NODE[ADD, REMOVE, REPLACE]
"""
_WORDS = ("mesh", "halo", "solver", "restart", "reader", "writer", "network", "device")
_END = "this is the last line of the log"


def main() -> None:
    """Measure."""
    parts: list[Part] = [(f"{count} patterns", partial(_compare, count)) for count in COUNTS]
    parts.append(("isolator", _isolator))
    run_parts(arguments("Bytes of log in a second."), parts)


def rules(count: int) -> str:
    """Return a specification with so many patterns, one in five an expression with a capture."""
    lines = [_HEAD]
    for number in range(count):
        word = _WORDS[number % len(_WORDS)]
        form = (
            f'MATCH "rank (?P<rank>[0-9]+) lost {word} {number}:"'
            if number % 5 == 4
            else f'LOG "error {number:04d} in {word}"'
        )
        lines += [
            f"DECLARE EXCEPTION E{number} JOB_LEVEL JOB [app]",
            f"EXCEPTION DETECTION E{number} {form} stdout",
            f"EXCEPTION RECOVERY STEP E{number} JOB NODE.REPLACE",
        ]
    return "\n".join(lines) + "\n"


def log(path: Path, size: int) -> None:
    """Write a log of at least so many bytes, in which nothing of it is wrong."""
    chance = random.Random(1)
    lines = [
        f"[{chance.random() * 1e4:12.6f}] rank {chance.randrange(4096):4d} {chance.choice(_WORDS)}: cycle = "
        f"{chance.randrange(10**6)} dt = {chance.random():.6e} residual = {chance.random():.9e}\n"
        for _ in range(20_000)
    ]
    block = "".join(lines).encode()
    with path.open("wb") as file:
        written = 0
        while written < size:
            written += file.write(block)
        file.write(_END.encode() + b"\n")


def _compare(count: int, quick: bool) -> list[Figure]:
    with scratch() as place:
        (place / "rules.esl").write_text(rules(count))
        spec = load_rules((str(place / "rules.esl"),), place / "cache", any_job=False)
        assert spec is not None
        path = place / "log"
        log(path, (64 if quick else 256) << 20)
        size = path.stat().st_size
        # By turns, so that what else runs on the machine hits both alike.
        pairs = [(_alone(spec, path), _watched(spec, path)) for _ in range(ROUNDS)]
    alone, watched = (size / median([pair[which] for pair in pairs]) / 1e6 for which in (0, 1))
    return [
        Figure(f"hyperscan alone, {count} patterns", alone, "MB/s"),
        Figure(f"read, matched and judged, {count} patterns", watched, "MB/s", floor=alone),
        Figure(f"the same, {count} patterns", 100 * watched / alone, "%", SHARE, at_most=False),
    ]


def _patterns(spec: Spec) -> Sequence[Pattern]:
    return [
        pattern
        for exception in spec.exceptions
        for detection in exception.detections
        if isinstance(detection, LogDetection)
        for pattern in detection.patterns
    ]


def _alone(spec: Spec, path: Path) -> float:
    """Scan with hyperscan only: bytes in memory, nothing done with a match. Returns processor seconds."""
    expressions = [canonical(pattern).expression for pattern in _patterns(spec)]
    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    database.compile(
        expressions=expressions,
        ids=list(range(len(expressions))),
        elements=len(expressions),
        flags=int(hyperscan.HS_FLAG_MULTILINE),
    )
    content = path.read_bytes()
    blocks = [content[begin : begin + BLOCK] for begin in range(0, len(content), BLOCK)]
    begun = time.process_time()
    for block in blocks:
        database.scan(block, match_event_handler=lambda *_: None)
    return time.process_time() - begun


def _watched(spec: Spec, path: Path) -> float:
    """Take the file's bytes through all that the isolator does with them. Returns processor seconds."""
    watch = Watch(
        spec,
        Task(id="wf/app", step="app"),
        {Source(stream=Stream.STDOUT): str(path)},
        "n01",
        time.time(),
        offsets={str(path): 0},
    )
    begun = time.process_time()
    found = watch.poll(time.time())
    while (due := watch.next_deadline(time.time())) is not None and due <= time.time():
        found += watch.poll(time.time())
    taken = time.process_time() - begun
    assert not found
    watch.close()
    return taken


def _isolator(quick: bool) -> list[Figure]:
    """A task that writes as fast as it can: from its start to the exception for its last line."""
    with scratch() as place:
        path = place / "log"
        log(path, (64 if quick else 512) << 20)
        text = rules(50).replace('LOG "error 0000 in mesh"', f'LOG "{_END}"')
        made = Protected(place, text)
        script = place / "program"
        script.write_text(f"#!/bin/bash\necho $EPOCHREALTIME > {place}/begun\ncat {path}\nsleep 300\n")
        command = made.command(script, "--observe")
        with (place / "out").open("wb") as out:
            child = subprocess.Popen(command, cwd=place, stdout=out, stderr=subprocess.DEVNULL)
            while not (raised := made.times("raised")):
                time.sleep(0.05)
        child.terminate()
        child.wait()
        rate = path.stat().st_size / (raised[0] - float((place / "begun").read_text())) / 1e6
    return [Figure("a running isolator beside a task that only writes, 50 patterns", rate, "MB/s")]


if __name__ == "__main__":
    main()
