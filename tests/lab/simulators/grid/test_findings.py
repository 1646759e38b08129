"""The findings of a run in which nobody waited: a quick one ended with a division by zero."""

from __future__ import annotations

import pytest

pytest.importorskip("numba")

from whesl.lab.reproductions.grid import reproduce


def test_a_run_in_which_nobody_waits_has_findings() -> None:
    idle = reproduce.Mean(1.0, 10.0, 0.0, 1.0, 0.0, 0.0, 1, 0.1)
    found = {(problem, policy): idle for problem in reproduce.SCENARIOS for policy in reproduce.POLICIES}
    by_name = {finding.name: finding for finding in reproduce._metacentrum_findings(found)}
    assert by_name["requirements"].holds is None
    assert by_name["BASIC"].holds
