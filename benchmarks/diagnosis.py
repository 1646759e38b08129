"""How often ``whesl why`` names the line that a job died of, beside simpler ways; and how fast it reads.

Usage: python -m benchmarks.diagnosis [--size MIB] [--json FILE]

The logs are those of tests/runtime/diagnose/corpus: composed by seeded scripts from the formats of programs.
On the same logs: the last line and the first line with "error", and the first line in which any pattern of
the library of rules is found. The floor of the speed is hyperscan alone, with the same texts to look for.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.runtime.diagnose.corpus.composing import Case, cases
from tests.runtime.diagnose.corpus.measuring import Answer, score
from tests.runtime.diagnose.corpus.work import PROGRAMS
from whesl import language
from whesl.language import library
from whesl.language.detections.log import LogDetection
from whesl.runtime.detect.matcher import Matcher, compile_patterns
from whesl.runtime.diagnose.diagnosing import diagnose_files, scanner
from whesl.runtime.diagnose.ranking import diagnose

ERROR = re.compile(r"error", re.IGNORECASE)


def whesl(text: str) -> Answer:
    """Ask ``whesl why``."""
    reader = scanner()
    reader.begin("log")
    reader.feed(text.encode())
    reader.finish()
    found = diagnose(reader.observed())
    if found.cause is None:
        return 0, "", found.advice.value, None, None
    finding = found.cause.finding
    cause = finding.entry.cause_class
    assert cause is not None
    return finding.line, cause.value, found.advice.value, finding.rank, finding.node


def last_error(text: str) -> Answer:
    """Take the last line with "error"."""
    lines = [number for number, line in enumerate(text.splitlines(), 1) if ERROR.search(line)]
    return (lines or [0])[-1], "", "", None, None


def first_error(text: str) -> Answer:
    """Take the first line with "error"."""
    lines = [number for number, line in enumerate(text.splitlines(), 1) if ERROR.search(line)]
    return (lines or [0])[0], "", "", None, None


def rules() -> Callable[[str], Answer]:
    """Return what takes the first line that any pattern of the library finds."""
    patterns = set()
    for name in library.names():
        spec = language.parse(library.place(name).read_bytes(), name).spec
        assert spec is not None
        for exception in spec.exceptions:
            for detection in exception.detections:
                if isinstance(detection, LogDetection):
                    patterns |= set(detection.patterns)
    matcher: Matcher = compile_patterns(tuple(patterns))

    def first(text: str) -> Answer:
        data = text.encode()
        found = matcher.open().feed(data, 0)
        line = data.count(b"\n", 0, min(m.line_offset for m in found)) + 1 if found else 0
        return line, "", "", None, None

    return first


def speed(mebibytes: int, storm: bool) -> tuple[float, float]:
    """Return MB/s of processor time: of ``whesl why`` on a log of one file, and of hyperscan alone."""
    import random

    rng = random.Random(1)
    steps = list(PROGRAMS["torch"](rng, 1, 20_000))
    if storm:
        lost = "[rank3]: RuntimeError: Connection closed by peer [10.0.0.9]:21373"
        steps = [line if n % 2 else lost for n, line in enumerate(steps)]
    block = ("\n".join(steps) + "\n").encode()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "big.log"
        size = 0
        with path.open("wb") as file:
            while size < mebibytes << 20:
                size += file.write(block)
        engine = scanner().engine
        begun = time.process_time()
        with path.open("rb") as file:
            while data := file.read(4 << 20):
                engine.present(data)
        alone = time.process_time() - begun
        begun = time.process_time()
        diagnose_files([str(path)])
        whole = time.process_time() - begun
    return size / whole / 1e6, size / alone / 1e6


def main() -> int:
    """Print a table, and write it as JSON where a file is named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument(
        "--size", type=int, default=256, help="MiB of the log that is read for the speed [256]"
    )
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    everything = cases()
    parts: dict[str, list[Case]] = {
        "seen": [case for case in everything if case.seen],
        "unseen": [case for case in everything if not case.seen],
    }
    ways = {
        "whesl why": whesl,
        'last "error"': last_error,
        'first "error"': first_error,
        "library in order": rules(),
    }
    rows = []
    print(f"{'':18}{'logs':>8}{'line':>7}{'class':>7}{'wrong':>7}{'advice':>8}{'where':>7}{'false':>7}")
    for name, way in ways.items():
        for part, logs in parts.items():
            found = score(logs, way)
            shown = [found.line, found.cls, found.wrong, found.advice, found.place, found.false_alarms]
            rows.append({"way": name, "logs": part, "of": len(logs), **found._asdict()})
            print(f"{name:18}{part:>8}" + "".join(f"{value:>7.1%}" for value in shown))
    for storm in (False, True):
        whole, alone = speed(options.size, storm)
        kind = "a storm" if storm else "steps"
        rows.append({"speed": kind, "whesl": whole, "hyperscan": alone})
        print(f"{options.size} MiB of {kind}: {whole:.0f} MB/s; hyperscan alone {alone:.0f} MB/s")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
