"""The demo's choice of a place for its small file system."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from demo import storage

ROOT, ME, SOMEBODY = 0, 1000, 1001


@pytest.mark.parametrize(
    ("owner", "strange"),
    [
        pytest.param(ME, False, id="mine"),
        pytest.param(ROOT, True, id="root, who is nobody in a user namespace"),
        pytest.param(SOMEBODY, True, id="another user"),
    ],
)
def test_a_user_namespace_is_left_alone_where_only_root_vouches_for_the_place(
    monkeypatch: pytest.MonkeyPatch, owner: int, strange: bool
) -> None:
    owners = {"/": ROOT, "/tmp": ROOT, "/tmp/clone": owner, "/tmp/clone/output": ME}
    modes = {"/tmp": 0o1777}

    def lstat(path: str) -> os.stat_result:
        return os.stat_result([stat.S_IFDIR | modes.get(path, 0o755), 0, 0, 1, owners[path], 0, 0, 0, 0, 0])

    monkeypatch.setattr(os, "lstat", lstat)
    monkeypatch.setattr(os, "geteuid", lambda: ME)
    started = False

    def execute(*_: object) -> None:
        nonlocal started
        started = True

    def probe(command: list[str], **_: object) -> object:
        return type("Ended", (), {"returncode": 0 if "--user" in command else 1})()

    monkeypatch.setattr(shutil, "which", lambda _: "/usr/bin/unshare")
    monkeypatch.setattr(subprocess, "run", probe)
    monkeypatch.setattr(os, "execvpe", execute)
    monkeypatch.delenv(storage.MARK, raising=False)

    storage.enter_namespace(Path("/tmp/clone/output"))

    assert started is not strange
