"""What goes between processes: nothing is read that somebody else could have written."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
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


class KeywordError(Exception):
    """Takes other arguments than those that ``Exception`` keeps, as most exceptions of libraries do."""

    def __init__(self, *, code: int) -> None:
        super().__init__(f"code {code}")
        self.code = code


class PathError(OSError):
    """A system's error with an ``__init__`` of its own."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(2, why, path)
        self.why = why


class BytesError(UnicodeDecodeError):
    """Python's own base has arguments that it needs."""

    def __init__(self, why: str) -> None:
        super().__init__("utf-8", b"abc", 0, 1, why)


class MadeError(Exception):
    """Has a ``__new__`` of its own."""

    def __new__(cls, first: str, second: int) -> MadeError:
        return super().__new__(cls, first, second)

    def __init__(self, first: str, second: int) -> None:
        super().__init__(first)
        self.second = second


class ReducedError(Exception):
    """Says itself how it is made again."""

    def __init__(self, first: str, second: int) -> None:
        super().__init__(first, second, second)
        self.second = second

    def __reduce__(self) -> Any:
        return ReducedError, (self.args[0], self.second)


class EndError(SystemExit):
    """Ends a program with a sum."""

    def __init__(self, first: int, second: int) -> None:
        super().__init__(first + second)


def _errors() -> list[BaseException]:
    found: list[BaseException] = [
        KeywordError(code=4),
        PathError("/x", "no such thing"),
        BytesError("odd byte"),
        MadeError("made", 2),
        EndError(1, 2),
        ReducedError("itself", 2),
        FileNotFoundError(2, "none", "f"),
        subprocess.CalledProcessError(3, "x", output=b"o"),
    ]
    if sys.version_info >= (3, 11):
        several = [KeywordError(code=1), ValueError(3)]
        found.append(ExceptionGroup("several", several))  # noqa: F821  # not in Python 3.10
    return found


@pytest.mark.parametrize("error", _errors(), ids=lambda error: type(error).__name__)
def test_an_exception_comes_back_whatever_its_class_takes(place: Path, error: BaseException) -> None:
    # Pickle calls the class with ``error.args``, and failed with "missing 1 required positional argument".
    payload.write_outcome(str(place), payload.Outcome(error=error))
    found = payload.read_outcome(str(place))
    assert found is not None and found.error is not None
    back = found.error
    assert type(back) is type(error) and str(back) == str(error) and repr(back) == repr(error)
    assert {name: repr(value) for name, value in vars(back).items()} == {
        name: repr(value) for name, value in vars(error).items()
    }
    payload.write_outcome(str(place), payload.Outcome(value=[error]))
    found = payload.read_outcome(str(place))
    assert found is not None and type(found.value[0]) is type(error)


def test_what_an_exception_carries_and_cannot_be_pickled_is_left_out(place: Path) -> None:
    error = KeywordError(code=4)
    error.lock = threading.Lock()  # type: ignore[attr-defined]  # a program may put anything on its exception
    error.args = ("held", threading.Lock())
    payload.write_outcome(str(place), payload.Outcome(error=error))
    found = payload.read_outcome(str(place))
    assert found is not None and isinstance(found.error, KeywordError)
    assert vars(found.error) == {"code": 4}
    assert found.error.args[0] == "held" and "lock object" in found.error.args[1]


def _opened(place: Path) -> None:
    place.chmod(0o644)


def _open_folder(place: Path) -> None:
    place.parent.chmod(0o755)


def _linked(place: Path) -> None:
    place.rename(place.with_name("other"))
    place.symlink_to(place.with_name("other"))


def _piped(place: Path) -> None:
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
