"""``python -m tests.fuzz --seconds 60``: every harness under atheris, one process each, with the kept corpus.

An input that shows a defect is written to the working directory and printed; shrunk and named, it belongs
into ``corpus/<harness>/`` beside the mending.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.fuzz.harness import CORPUS, MAX_LENGTH

# Seconds that one input may take before it counts as a hang.
TIMEOUT = 20
ROOT = Path(__file__).resolve().parents[2]
_DONE = re.compile(rb"Done (\d+) runs in (\d+) second")
NAMES = sorted(path.name for path in CORPUS.iterdir() if path.is_dir())


class Fuzzer:
    """A process that has imported the instrumented modules, and runs harnesses below it.

    Args:
        repeatable: the same inputs each time.
    """

    def __init__(self, repeatable: bool = False) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.fuzz.instrumented"],
            cwd=ROOT,
            env={**os.environ, **({"PYTHONHASHSEED": "0"} if repeatable else {})},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Fuzzer:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def run(
        self, name: str, seconds: int, found: Path, place: Path, inputs: int = -1
    ) -> tuple[int, int, str]:
        """Run one harness; return its exit status, its number of runs, its last words.

        Args:
            name: the harness.
            seconds: how long.
            found: where new inputs are collected.
            place: the working directory, where a failing input is written.
            inputs: at most so many; -1 for as many as the time allows.
        """
        assert self._process.stdin is not None and self._process.stdout is not None
        with tempfile.NamedTemporaryFile(prefix="whesl-fuzz-") as said:
            request = [name, seconds, str(found), inputs, str(place), said.name]
            print(json.dumps(request), file=self._process.stdin, flush=True)
            answer = self._process.stdout.readline()
            output = said.read()
        assert answer, f"the fuzzer ended with status {self._process.wait()}"
        done = _DONE.search(output)
        return int(answer), int(done[1]) if done else 0, output.decode("utf-8", "replace")[-6000:]


def main(arguments: list[str] | None = None) -> int:
    """Fuzz what was asked for; 1 when a defect was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=int, default=60, help="for each harness")
    parser.add_argument("--only", default="", help=f"comma-separated, of: {', '.join(NAMES)}")
    parser.add_argument("--keep", type=Path, help="directory for the inputs that reach new code")
    options = parser.parse_args(arguments)
    wanted = [name for name in options.only.split(",") if name] or NAMES
    if unknown := set(wanted) - set(NAMES):
        parser.error(f"no such harness: {', '.join(sorted(unknown))}")
    failed = []
    with tempfile.TemporaryDirectory(prefix="whesl-fuzz-") as scratch, Fuzzer() as fuzzer:
        for name in wanted:
            place = (options.keep or Path(scratch)) / name
            place.mkdir(parents=True, exist_ok=True)
            status, runs, told = fuzzer.run(name, options.seconds, place.absolute(), Path.cwd())
            verdict = "held" if status == 0 else f"DEFECT (status {status}):"
            print(f"{name:14} {runs:>9} inputs  {verdict}", flush=True)
            if status:
                print(told)
                failed.append(name)
    print(f"{len(wanted) - len(failed)} of {len(wanted)} harnesses held, at most {MAX_LENGTH} bytes an input")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
