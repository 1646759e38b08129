"""One harness under atheris: ``python -m tests.fuzz.instrumented NAME SECONDS FOUND INPUTS``."""

from __future__ import annotations

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


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
