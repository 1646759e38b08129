"""The WHESL home is private, and everybody gets the same keys."""

from __future__ import annotations

import concurrent.futures
import os
import stat
from pathlib import Path

import pytest

from whesl.files import file_retry
from whesl.runtime.wire.keys import KeyPair, LinkKeys, home, user_keys
from whesl.runtime.wire.private_directory import HomeError


def test_the_home_is_made_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHESL_HOME", str(tmp_path / "a" / "b"))
    before = os.umask(0)
    try:
        assert home() == tmp_path / "a" / "b"
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a" / "b").stat().st_mode) == 0o700


@pytest.mark.parametrize("mode", [0o755, 0o750, 0o707, 0o701])
def test_an_open_home_is_refused_with_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: int
) -> None:
    tmp_path.chmod(mode)
    monkeypatch.setenv("WHESL_HOME", str(tmp_path))
    with pytest.raises(HomeError) as caught:
        home()
    assert f"chmod 700 {tmp_path}" in caught.value.hint


def test_a_strangers_home_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.chmod(0o700)
    monkeypatch.setenv("WHESL_HOME", str(tmp_path))
    owner = tmp_path.stat().st_uid
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    with pytest.raises(HomeError, match="belongs to uid"):
        home()


def test_a_file_in_its_place_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "home").write_text("")
    monkeypatch.setenv("WHESL_HOME", str(tmp_path / "home"))
    with pytest.raises(HomeError):
        home()


def test_keys_are_made_once_and_are_private(tmp_path: Path) -> None:
    first = user_keys(tmp_path / "h")
    assert user_keys(tmp_path / "h") == first
    assert first.client != first.coordinator
    for path in (tmp_path / "h" / "keys").rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


def test_makers_at_the_same_time_get_the_same_keys(tmp_path: Path) -> None:
    for attempt in range(10):
        place = tmp_path / str(attempt)
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            found = list(pool.map(lambda _: user_keys(place), range(8)))  # noqa: B023 - used at once
        assert len(set(found)) == 1
        assert sorted(p.name for p in (place / "keys").iterdir()) == ["client", "coordinator"]


def test_an_open_or_damaged_key_file_is_refused(tmp_path: Path) -> None:
    user_keys(tmp_path / "h")
    file = tmp_path / "h" / "keys" / "client" / "pair.json"
    file.chmod(0o644)
    with pytest.raises(HomeError, match="open to others"):
        user_keys(tmp_path / "h")
    file.chmod(0o600)
    file.write_text('["half')
    with pytest.raises(HomeError, match="damaged"):
        user_keys(tmp_path / "h")


def test_secrets_are_not_shown() -> None:
    keys = LinkKeys.generate()
    assert keys.server.secret not in repr(keys)
    assert KeyPair.generate().public != KeyPair.generate().public


def test_private_files_replace_in_one_piece(tmp_path: Path) -> None:
    file_retry.replace(tmp_path / "f", b"one", durable=True)
    file_retry.replace(tmp_path / "f", b"two", durable=True)
    assert (tmp_path / "f").read_bytes() == b"two"
    assert stat.S_IMODE((tmp_path / "f").stat().st_mode) == 0o600
    assert [p.name for p in tmp_path.iterdir()] == ["f"]
