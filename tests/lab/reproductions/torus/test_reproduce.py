"""Figure 2 as a command prints it."""

from __future__ import annotations

import pytest

from whesl.lab.reproductions.registry import Inputs, load


@pytest.mark.costly
def test_figure_2_is_reproduced() -> None:
    report = load("torus-example").run(Inputs(quick=True))
    assert [finding.holds for finding in report.findings] == [True]
    assert report.values["0"] == {"a": 3.0, "b": 5.0}
    assert report.values["0.75"] == {"a": pytest.approx(6.0), "b": 5.0}
