"""What goes between processes: nothing is read that somebody else could have written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import whesl
from whesl.runtime.functions import payload


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory as a call's is."""
    folder = tmp_path / "call"
    folder.mkdir(mode=0o700)
    return folder / payload.OUTCOME


def test_a_value_comes_back(place: Path) -> None:
    payload.write_outcome(str(place), payload.Outcome(value=[1, lambda: 2]))
    found = payload.read_outcome(str(place))
    assert found is not None and found.value[1]() == 2
    assert place.stat().st_mode & 0o777 == 0o600
    assert payload.read_outcome(str(place.with_name("none"))) is None


def _opened(place: Path) -> None:
    place.chmod(0o644)


def _open_folder(place: Path) -> None:
    place.parent.chmod(0o755)


def _linked(place: Path) -> None:
    place.rename(place.with_name("other"))
    place.symlink_to(place.with_name("other"))


def _piped(place: Path) -> None:
    import os

    place.unlink()
    os.mkfifo(place, 0o600)


@pytest.mark.parametrize("change", [_opened, _open_folder, _linked, _piped])
def test_what_others_could_have_written_is_not_read(place: Path, change: Any) -> None:
    payload.write_outcome(str(place), payload.Outcome(value=1))
    change(place)
    with pytest.raises(OSError):
        payload.read_outcome(str(place))


def test_what_cannot_be_read_is_told(place: Path) -> None:
    place.write_bytes(b"\x80nothing of the kind")
    place.chmod(0o600)
    with pytest.raises(whesl.UnpicklableError, match="cannot be read here"):
        payload.read_outcome(str(place))
