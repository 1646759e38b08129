"""Tests and benchmarks list the machine's processes in one way."""

from __future__ import annotations

import re
from pathlib import Path

from whesl.testing import processes

ROOT = Path(__file__).resolve().parent.parent


def test_nobody_else_asks_psutil_for_all_processes() -> None:
    """A list that ``psutil`` keeps between calls has ended processes whose ids were given to others.

    A test that sent a signal to the rank of a job met one such, and psutil refused it: "process no longer
    exists and its PID has been reused".
    """
    listing = re.compile(r"\bprocess_iter\b|\bpsutil\.pids\b")
    modules = [
        path for folder in ("whesl", "tests", "benchmarks", "demo") for path in (ROOT / folder).rglob("*.py")
    ]
    found = {path for path in modules if listing.search(path.read_text())}
    assert found - {Path(__file__).resolve()} == {Path(processes.__file__)}
