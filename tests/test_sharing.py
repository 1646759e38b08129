"""How tests are shared among the processes of pytest-xdist."""

from __future__ import annotations

import os

import pytest


@pytest.mark.skipif("PYTEST_XDIST_WORKER" not in os.environ, reason="there is one process")
@pytest.mark.xdist_group("sharing")
def test_groups_stay_together(request: pytest.FixtureRequest) -> None:
    """With a pytest that xdist did not know groups fell apart; each process compiled all."""
    assert request.node.nodeid.endswith("@sharing")
