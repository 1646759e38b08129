"""Lines of one form are judged until enough told the same; all others are judged, and keep their numbers."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest

from whesl.runtime.diagnose import progress
from whesl.runtime.diagnose.diagnosing import scanner
from whesl.runtime.diagnose.storms import ENOUGH, Storms

LOST = "[rank{rank}]: RuntimeError: Connection closed by peer [10.0.0.{host}]:{port}"
CAUSE = "[rank7]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."


def _observed(lines: list[str], piece: int) -> tuple[list[tuple[str, int]], dict[str, int]]:
    reader = scanner()
    reader.begin("log")
    data = ("\n".join(lines) + "\n").encode()
    for at in range(0, len(data), piece):
        reader.feed(data[at : at + piece])
    reader.finish()
    found = reader.observed()
    return [(finding.entry.name, finding.line) for finding in found.findings], dict(found.counts)


@pytest.mark.parametrize("seed", range(4))
def test_a_rare_line_in_a_storm_is_found_at_its_number_and_every_line_counts(seed: int) -> None:
    rng = random.Random(seed)
    lines = [
        LOST.format(rank=rng.randrange(64), host=rng.randrange(256), port=rng.randrange(65536))
        for _ in range(rng.randrange(8000, 12000))
    ]
    places = sorted(rng.sample(range(len(lines)), 5))
    for place in places:
        lines[place] = CAUSE
    findings, counts = _observed(lines, rng.choice([1000, 50_000, 10_000_000]))
    causes = [line for name, line in findings if "oom" in name or "memory" in name]
    assert causes == [place + 1 for place in places]
    (symptom,) = {name for name, line in findings if line - 1 not in places}
    assert counts[symptom] == len(lines) - len(places)


def test_lines_that_differ_in_words_are_a_storm_too() -> None:
    rng = random.Random(1)
    words = ["".join(rng.choices("abcdefghij", k=8)) for _ in range(7000)]
    lines = [f"[rank1]: RuntimeError: Connection closed by peer {word}" for word in words]
    _, counts = _observed(lines, 1 << 20)
    assert max(counts.values()) == len(words)


@pytest.mark.parametrize("piece", range(1, 8))
def test_a_log_in_pieces_of_any_size_is_the_same_log(piece: int) -> None:
    lines = [
        "step 1",
        "",
        "Too many LINCS warnings (1001)",
        CAUSE,
        "\x1b[31mKilled\x1b[0m",
    ]
    assert _observed(lines, piece) == _observed(lines, 1 << 20)


def test_lines_of_a_large_log_are_counted_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [*["step of the work"] * 5000, CAUSE, "step of the work", CAUSE]
    expected = _observed(lines, 10_000)
    monkeypatch.setattr(progress, "_LARGE", 20_000)
    assert _observed(lines, 10_000) == expected
    assert [line for _, line in expected[0]] == [5001, 5003]


def test_a_short_piece_without_a_storm_s_lines_does_not_end_the_storm() -> None:
    storms = Storms(lambda _: [])
    for _ in range(ENOUGH):
        storms.judged(b"rank 12 lost node7", (1,), ("lost",))
    assert storms.holds(b"rank 12 lost node7", (1,))
    assert storms.take_out(b"step 1\n", 1) == b"step 1\n"
    assert storms.take_out(b"rank 1 lost node7\n", 1) == b"\n"


def test_what_is_taken_out_leaves_its_break() -> None:
    storms = Storms(lambda _: [])
    line = b"rank 12 lost node0a7"
    for _ in range(ENOUGH):
        assert not storms.holds(line, (1,))
        storms.judged(line, (1,), ("lost",))
    assert storms.holds(line, (1,))
    text = b"rank 3 lost node99\nother\nrank 4 lost node1 for good\nrank 5 lost nodeff8\nrank 6 lost node7"
    assert storms.take_out(text + b"\n", 5) == b"\nother\nrank 4 lost node1 for good\n\n\n"
    assert storms.counts == {"lost": 4}


def test_a_text_that_tells_all_is_marked_and_what_else_its_lines_say_stays() -> None:
    storms = Storms(
        lambda text: [word for word, known in enumerate((b"peer lost", b"memory")) if known in text]
    )
    for _ in range(ENOUGH):
        storms.judged(b"[12] the peer lost its way [7]", [0], ("lost",))
    assert storms.holds(b"[12] the peer lost its way [7]", [0])
    text = b"[3] the peer lost its way [71]\nstep 1\n[4] the peer lost its way [8] no memory\n"
    taken = storms.take_out(text, 3)
    assert b"lost" not in taken
    assert taken.count(b"\n") == 3
    assert b"no memory" in taken
    assert storms.whole(taken) == text
    assert storms.counts == {"lost": 3}


@pytest.mark.parametrize("seed", range(3))
def test_marks_find_and_count_what_a_judgement_of_each_line_does(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(seed)
    kinds = (
        *("step {}", CAUSE, "[rank{}]: RuntimeError: Connection closed by peer [10.0.0.9]:{}"),
        *("[rank{}]: torch.OutOfMemoryError: peer", "[{}] RuntimeError: no more of it {}"),
    )
    weights = (5, 0.001, 4, 1, 1)
    lines = [
        kind.format(rng.randrange(99), rng.randrange(9999)) for kind in rng.choices(kinds, weights, k=6000)
    ]
    marked = _observed(lines, 100_000)
    monkeypatch.setattr("whesl.runtime.diagnose.storms.ENOUGH", len(lines))
    assert marked[1] == _observed(lines, 100_000)[1]


_PEAK = """\
import sys
from whesl.runtime.diagnose.diagnosing import diagnose_files
print(diagnose_files(sys.argv[1:]).outcome.value)
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


@pytest.mark.parametrize("name", ["steps", "storm"])
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
