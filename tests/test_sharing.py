"""How tests are shared among the processes of pytest-xdist, and how runs share a checkout."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests import conftest


@pytest.mark.skipif("PYTEST_XDIST_WORKER" not in os.environ, reason="there is one process")
@pytest.mark.xdist_group("sharing")
def test_groups_stay_together(request: pytest.FixtureRequest) -> None:
    """With a pytest that xdist did not know groups fell apart; each process compiled all."""
    assert request.node.nodeid.endswith("@sharing")


def test_another_run_of_this_checkout_ends_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run moves the file of failed tests when it ends: the other one ended with an internal error."""
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    monkeypatch.setattr(conftest, "FAILING", tmp_path / "failing")
    report = pytest.TestReport("a.py::test_x@group", ("a.py", 1, "x"), {}, "failed", None, "call")
    for _ in range(2):
        conftest.pytest_runtest_logreport(report)
    assert conftest.FAILING.read_text() == "a.py::test_x\n"
