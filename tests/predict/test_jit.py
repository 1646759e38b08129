"""Machine code is kept for the sources that it was made of."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from whesl.predict import numba_jit


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
    first = numba_jit.cache_directory()
    assert first is not None
    assert numba_jit.cache_directory() == first
    (tmp_path / "lab" / "loop.py").write_text("def f(): ...")
    second = numba_jit.cache_directory()
    assert second not in (None, first)
    os.utime(first, (time.time() - 30 * 86400,) * 2)
    numba_jit.cache_directory()
    assert not Path(first).exists()


def test_every_room_with_compiled_functions_counts() -> None:
    """The experiments had moved out of the lab, and what changed in them was not seen."""
    root = Path(numba_jit.__file__).resolve().parent.parent
    users = {path for path in root.rglob("*.py") if "whesl.predict.numba_jit" in path.read_text()}
    assert {path.relative_to(root).parts[0] for path in users} == set(numba_jit._ROOMS)


def test_a_home_that_cannot_be_written_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert numba_jit.cache_directory() is None
