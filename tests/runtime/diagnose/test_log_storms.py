"""Lines of one form are judged until enough told the same; all others are judged at their numbers."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests.alike import alike
from whesl.runtime.diagnose import progress
from whesl.runtime.diagnose.diagnosing import scanner
from whesl.runtime.diagnose.search.log_storms import Storms

LOST = "[rank{rank}]: RuntimeError: Connection closed by peer [10.0.0.{host}]:{port}"
CAUSE = "[rank7]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."


def _observed(lines: list[str], piece: int) -> tuple[list[tuple[str, int]], frozenset[str]]:
    reader = scanner()
    reader.begin("log")
    data = ("\n".join(lines) + "\n").encode()
    for at in range(0, len(data), piece):
        reader.feed(data[at : at + piece])
    reader.finish()
    found = reader.observed()
    return [(finding.entry.name, finding.line) for finding in found.findings], found.left_out


@pytest.mark.parametrize(
    "rare", [CAUSE, "[rank5]: RuntimeError: shape mismatch", "ValueError: lost by peer [1]"]
)
@pytest.mark.parametrize("seed", range(2))
def test_a_rare_line_in_a_storm_is_found_at_its_number(seed: int, rare: str) -> None:
    rng = random.Random(seed)
    lines = [
        LOST.format(rank=rng.randrange(64), host=rng.randrange(256), port=rng.randrange(65536))
        for _ in range(rng.randrange(8000, 12000))
    ]
    places = sorted(rng.sample(range(len(lines)), 5))
    for place in places:
        lines[place] = rare
    findings, left_out = _observed(lines, rng.choice([1000, 50_000, 10_000_000]))
    (storm,) = left_out
    assert [line for name, line in findings if name != storm] == [place + 1 for place in places]


@pytest.mark.parametrize(
    "storm",
    [
        LOST,
        pytest.param("[rank1]: RuntimeError: Connection closed by peer {word}", marks=pytest.mark.costly),
    ],
)
def test_lines_of_a_storm_are_passed_over(storm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(1)
    lines = [
        storm.format(rank=n, host=n, port=n, word="".join(rng.choices("ghijklmnop", k=8)))
        for n in range(9000)
    ]
    reader = scanner()
    reader.begin("log")
    reader.feed(("\n".join(lines) + "\n").encode())
    monkeypatch.setattr(Storms, "holds", None)  # any line that is still reported would raise an error
    reader.feed(("\n".join(lines) + "\n").encode())


@pytest.mark.parametrize("piece", [*range(1, 8), 40, 77])
def test_a_log_in_pieces_of_any_size_is_the_same_log(piece: int) -> None:
    lines = [
        "step 1",
        "",
        "Too many LINCS warnings (1001)",
        CAUSE,
        "\x1b[31mKilled\x1b[0m",
        *["the work goes on"] * 6,
        "OSError: [Errno 98] Address already in use",
        "",
        "port 9091 is busy, trying 9092",
        "[WARNING] what the watchdog saw:",
        "  RuntimeError: Connection closed by peer [1]:1",
        *["the work goes on"] * 9,
    ]
    data = ("\n".join(lines) + "\n").encode()
    found = []
    for size in (piece, len(data)):
        reader = scanner()
        reader.begin("log")
        for at in range(0, len(data), size):
            reader.feed(data[at : at + size])
        reader.finish()
        found.append(reader.observed())
    assert found[0] == found[1]
    assert [f.line for f in found[0].findings if f.warned or f.again] == [12, 16]


def test_lines_of_a_large_log_are_counted_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [*["step of the work"] * 5000, CAUSE, "step of the work", CAUSE]
    expected = _observed(lines, 10_000)
    monkeypatch.setattr(progress, "_LARGE", 20_000)
    assert _observed(lines, 10_000) == expected
    assert [line for _, line in expected[0]] == [5001, 5003]


_PEAK = """\
import sys
from whesl.runtime.diagnose.diagnosing import diagnose_files
print(diagnose_files(sys.argv[1:]).outcome.value)
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


@pytest.mark.parametrize("name", alike(["storm", "steps"]))
@pytest.mark.costly
def test_a_log_eight_times_as_large_takes_no_more_memory(tmp_path: Path, name: str) -> None:
    step = "step {n} loss 2.25 of the work that is done on this node, and of other nodes as well"
    rows = [
        LOST.format(rank=n % 64, host=n % 256, port=n) if name == "storm" and n % 2 else step.format(n=n)
        for n in range(9000)
    ]
    block = ("\n".join(rows) + "\n").encode()
    peaks = []
    for mebibytes in (8, 64):
        log = tmp_path / "log"
        with log.open("wb") as file:
            while file.tell() < mebibytes << 20:
                file.write(block)
        told = subprocess.run([sys.executable, "-c", _PEAK, log], capture_output=True, text=True, check=True)
        peaks.append(int(told.stdout.split()[1]))
    assert (
        peaks[1] - peaks[0] < 24 << 10
    )  # KiB; numpy, which counts the lines of a large log, is 20 MiB of it
