"""The mark of an attempt is on what a node starts for it, and never on the node's own daemon."""

from __future__ import annotations

import resource
import subprocess
from typing import Any

import pytest

from whesl.managers.resource.embedded import tasks
from whesl.managers.resource.launcher_shims.nodes_in_use import TOKEN
from whesl.model import attempt_rlimit_mark


def test_a_task_carries_the_mark_and_its_node_s_daemon_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """An isolator that looked while a rank was started took the daemon for a rank, and killed the node."""
    own = resource.getrlimit(resource.RLIMIT_RSS)
    seen = []

    class Started(subprocess.Popen[bytes]):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            seen.append(resource.getrlimit(resource.RLIMIT_RSS))
            super().__init__(*args, **kwargs)
            seen.append(resource.getrlimit(resource.RLIMIT_RSS))

    monkeypatch.setattr(subprocess, "Popen", Started)
    token = "0123456789abcdef0123456789abcdef.1"
    child = tasks._start(
        ["/bin/sh", "-c", "ulimit -S -m"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd="/",
        env={TOKEN: token},
    )
    limit, _ = child.communicate(timeout=60)
    assert int(limit) == attempt_rlimit_mark.of_token(token) >> 10, "ulimit counts in KiB"
    assert seen == [own, own]
