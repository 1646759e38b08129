"""Harnesses under atheris: each line of standard input names one, which runs in a process of its own.

A line is a JSON list: name, seconds, FOUND, inputs, working directory, file for the output. The answer is a
line with the exit status. The instrumented modules are imported once: that takes longer than a short run.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path

import atheris

from tests.fuzz.__main__ import TIMEOUT
from tests.fuzz.harness import CORPUS, MAX_LENGTH

with atheris.instrument_imports(include=["whesl"]):
    from tests.fuzz.catalogue import HARNESSES


def _dictionary(words: tuple[str, ...], file: Path) -> None:
    """Write words in libFuzzer's form."""
    quoted = ("".join(f"\\x{byte:02X}" for byte in word.encode()) for word in words)
    file.write_text("".join(f'"{word}"\n' for word in quoted))


def main(name: str, seconds: int, found: str, inputs: int = -1) -> None:
    """Run until the time is over, ``inputs`` (-1: any number) were tried, or a defect is found."""
    harness = HARNESSES[name]
    options = [
        f"-max_total_time={seconds}",
        f"-max_len={MAX_LENGTH}",
        f"-timeout={TIMEOUT}",
        "-rss_limit_mb=2048",
        f"-artifact_prefix={Path.cwd()}/fuzz-{name}-",
        "-print_final_stats=0",
    ]
    if inputs >= 0:
        options += [f"-runs={inputs}", "-seed=1"]
    if harness.words:
        # The process ends inside libFuzzer: nobody is left to remove the file, so it lies in FOUND's place.
        dictionary = Path(tempfile.gettempdir(), found).with_suffix(".dict")
        _dictionary(harness.words, dictionary)
        options.append(f"-dict={dictionary}")
    atheris.Setup([sys.argv[0], *options, found, str(CORPUS / name)], harness.run)
    atheris.Fuzz()


def serve() -> None:
    """Run what is asked for, one after the other, until nobody asks any more."""
    for line in sys.stdin:
        *arguments, place, said = json.loads(line)
        child = os.fork()
        if child == 0:
            os.chdir(place)
            output = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            os.dup2(output, sys.stdout.fileno())
            os.dup2(output, sys.stderr.fileno())
            main(*arguments)
            os._exit(0)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    serve()
