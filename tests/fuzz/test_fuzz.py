"""Every harness over its kept corpus, over what hypothesis draws, and, with atheris, by coverage."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.alike import examples
from tests.fuzz import generated
from tests.fuzz.__main__ import Fuzzer
from tests.fuzz.catalogue import HARNESSES
from tests.fuzz.harness import CALLS, CALLS_PER_BYTE, CORPUS, MAX_LENGTH, Harness, TooMuchWorkError, bounded

# Those that start and end files need longer for each input.
EXAMPLES = {"journal": 20, "snapshot": 30, "history": 15, "files": 30, "language": 15, "maestro": 25}
# Inputs under atheris: the same ones each time, so that a test that passed yesterday tells of a change.
INPUTS = {
    "journal": 30,
    "snapshot": 50,
    "history": 30,
    "files": 75,
    "language": 15,
    "maestro": 75,
    "hostlists": 75,
}
SECONDS = 120
ROOT = Path(__file__).resolve().parents[2]
KEPT = [(harness.name, path.name) for harness in HARNESSES.values() for path in harness.corpus()]


def test_each_harness_has_a_corpus_and_each_corpus_a_harness() -> None:
    assert {path.name for path in CORPUS.iterdir()} == set(HARNESSES)
    for harness in HARNESSES.values():
        assert harness.corpus()
        assert all(path.stat().st_size <= MAX_LENGTH for path in harness.corpus())


@pytest.mark.parametrize(("name", "kept"), KEPT)
def test_what_was_kept(name: str, kept: str) -> None:
    bounded(HARNESSES[name], (CORPUS / name / kept).read_bytes())


def drawn(harness: Harness) -> st.SearchStrategy[bytes]:
    """Bytes, the harness's words in any order, damaged or not, and what has the right form."""
    words = st.lists(st.sampled_from(harness.words or ("\0", "\xff")) | st.text(max_size=6), max_size=12)
    text = words.map("".join).map(lambda text: text.encode("utf-8", "surrogatepass"))
    damaged = st.tuples(text, st.integers(0, 400), st.binary(max_size=4)).map(
        lambda parts: parts[0][: parts[1]] + parts[2] + parts[0][parts[1] + len(parts[2]) :]
    )
    strategies = [st.binary(max_size=200), text, damaged, *generated.STRATEGIES.get(harness.name, ())]
    return st.one_of(strategies).map(lambda data: data[:MAX_LENGTH])


@pytest.mark.costly
@pytest.mark.parametrize("name", HARNESSES)
def test_what_is_drawn(name: str) -> None:
    harness = HARNESSES[name]

    @settings(
        max_examples=examples(EXAMPLES.get(name, 60)),
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(drawn(harness))
    def run(data: bytes) -> None:
        bounded(harness, data)

    run()


@pytest.fixture(scope="module")
def fuzzer() -> Iterator[Fuzzer]:
    with Fuzzer(repeatable=True) as made:
        yield made


@pytest.mark.skipif(importlib.util.find_spec("atheris") is None, reason="atheris is not installed")
@pytest.mark.slow
@pytest.mark.busy
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", HARNESSES)
def test_what_coverage_finds(tmp_path: Path, name: str, fuzzer: Fuzzer) -> None:
    """A little; ``make fuzz`` is for longer, and for other inputs."""
    place = tmp_path / name
    place.mkdir()
    status, runs, told = fuzzer.run(name, SECONDS, place, tmp_path, INPUTS.get(name, 175))
    assert status == 0 and runs, told


class TestHarness:
    def test_too_much_work_is_a_defect(self) -> None:
        def quadratic(data: bytes) -> None:
            for _ in range(len(data) ** 2 * 100):
                len(data)

        bounded(Harness("few", quadratic), b"x" * 10)
        with pytest.raises(TooMuchWorkError):
            bounded(Harness("many", quadratic), b"x" * 100)
        assert CALLS > 10**5 > CALLS_PER_BYTE

    def test_a_defect_is_found_by_coverage(self, tmp_path: Path) -> None:
        """The runner says so, and names the input."""
        pytest.importorskip("atheris")
        program = (
            "import tests.fuzz.catalogue as c, tests.fuzz.harness as h, tests.fuzz.instrumented as i\n"
            "def run(data):\n    assert not data.startswith(b'#!')\n"
            "c.HARNESSES['batch'] = h.Harness('batch', run)\n"
            f"i.main('batch', 20, {str(tmp_path)!r})\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", program],
            cwd=tmp_path,
            env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
            capture_output=True,
            check=False,
        )
        assert done.returncode != 0
        assert list(tmp_path.glob("fuzz-batch-crash-*"))
