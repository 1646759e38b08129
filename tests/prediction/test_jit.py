"""Machine code is kept for the sources that it was made of."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from whesl.files import compiled_code_cache
from whesl.prediction import numba_jit


def test_a_changed_module_has_machine_code_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A changed callee in another module was not seen: a simulation ran on with the draws of before."""
    for room in ("predict", "placement", "lab"):
        (tmp_path / room).mkdir()
    source = tmp_path / "predict" / "jit.py"
    source.write_text("one")
    monkeypatch.setattr(numba_jit, "__file__", str(source))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    first = compiled_code_cache.directory(numba_jit.sources())
    assert first is not None
    assert compiled_code_cache.directory(numba_jit.sources()) == first
    (tmp_path / "lab" / "loop.py").write_text("def f(): ...")
    second = compiled_code_cache.directory(numba_jit.sources())
    assert second not in (None, first)
    os.utime(first, (time.time() - 30 * 86400,) * 2)
    compiled_code_cache.directory(numba_jit.sources())
    assert not Path(first).exists()


def test_every_room_with_compiled_functions_counts() -> None:
    """The experiments had moved out of the lab, and what changed in them was not seen."""
    root = Path(numba_jit.__file__).resolve().parent.parent
    users = {path for path in root.rglob("*.py") if "whesl.prediction.numba_jit" in path.read_text()}
    assert {path.relative_to(root).parts[0] for path in users} == set(numba_jit._ROOMS)


@pytest.mark.parametrize("planted", ["", "link", "open"])
def test_an_account_without_a_home_has_machine_code_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planted: str
) -> None:
    """It died in a traceback of numba's; what another user has planted among temporary files is not used."""

    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    base = tmp_path / f"whesl-machine-code-{os.geteuid()}"
    if planted == "link":
        (tmp_path / "elsewhere").mkdir()
        base.symlink_to(tmp_path / "elsewhere")
    elif planted == "open":
        base.mkdir()
        base.chmod(0o777)
    found = compiled_code_cache.directory(numba_jit.sources())
    if planted:
        assert found is None
    else:
        assert found is not None and Path(found).parent == base
        assert base.stat().st_mode & 0o777 == 0o700


def test_a_home_that_cannot_be_written_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    found = compiled_code_cache.directory(numba_jit.sources())
    assert found is not None and Path(found).parent.parent == tmp_path


_TOY = """
import sys
sys.argv = ["whesl", "lab", *sys.argv[1:]]
from whesl.__main__ import main
try:
    main()
except SystemExit as ended:
    assert not ended.code, ended.code
assert "numba" not in sys.modules
"""


@pytest.mark.parametrize("words", [["schedule", "--log", "LOG"], ["reproduce", "flaw-example", "--json"]])
def test_a_toy_is_done_without_numba(tmp_path: Path, words: list[str]) -> None:
    # The first result took 44 s of processor, and 2 s ever after.
    log = tmp_path / "toy.swf"
    log.write_text("; MaxProcs: 4\n1 0 -1 100 2 -1 -1 2 100 -1 1 1 1 1 1 1 -1 -1\n")
    told = [str(log) if word == "LOG" else word for word in words]
    done = subprocess.run(
        [sys.executable, "-c", _TOY, *told], capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == 0, done.stderr
