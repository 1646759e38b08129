"""The lab's functions in C are compiled once, and done without where they cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest

from whesl.lab.native import library as native


def test_what_was_compiled_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert native.library.__wrapped__() is not None
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["lab.so"]
    monkeypatch.setattr(native, "_COMPILERS", ())
    assert native.library.__wrapped__() is not None


@pytest.mark.parametrize("compiler", ["none", "false", "a library of nothing"])
def test_a_machine_without_a_compiler_does_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compiler: str
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    broken = tmp_path / "cc"
    broken.write_text('#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\necho nothing > "$2"\n')
    broken.chmod(0o755)
    names = {"none": (), "false": ("false",), "a library of nothing": (str(broken),)}
    monkeypatch.setattr(native, "_COMPILERS", names[compiler])
    assert native.library.__wrapped__() is None
