"""``whesl lab ckpt``, and what of the dissertation is run again."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from whesl.cli.lab.ckpt import ckpt
from whesl.lab.reproductions.checkpoints import migration_break_even, observation_checks, reproduce
from whesl.lab.reproductions.registry import Inputs
from whesl.lab.simulators.checkpoints import machine_and_application_files
from whesl.model.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path


def test_a_user_s_own_machine_and_codes(tmp_path: Path) -> None:
    system, apps = tmp_path / "system.toml", tmp_path / "apps.toml"
    system.write_text(machine_and_application_files.shipped("summit.toml").replace('"Summit"', '"Ours"'))
    apps.write_text('[[application]]\nname = "code"\nnodes = 400\ncheckpoint_gb = 4000\nhours = 200\n')
    out = tmp_path / "out"
    arguments = [
        "--system",
        str(system),
        "--apps",
        str(apps),
        "--runs",
        "40",
        "--out",
        str(out),
        "--json",
        "-q",
    ]
    arguments += ["--failures", "lanl 18"]
    result = CliRunner().invoke(ckpt, arguments, catch_exceptions=False)
    summary = json.loads(result.stdout)
    assert summary == json.loads((out / "summary.json").read_text())
    assert (summary["system"], summary["failures"]) == ("Ours", "LANL 18")
    assert summary["best"]["code"]["model"] in ("M2", "P2", "P2+")
    for name in ("index.html", "overheads.svg", "overheads.png", "lead-times.csv", "overheads.md"):
        assert (out / name).stat().st_size > 500


def test_failures_that_are_not_in_the_file() -> None:
    with pytest.raises(UsageError, match="no failures of the name 'LANL 9'"):
        CliRunner().invoke(ckpt, ["--failures", "LANL 9"], catch_exceptions=False)


def test_the_shipped_files_can_be_printed() -> None:
    assert CliRunner().invoke(ckpt, ["--example", "apps"]).stdout == machine_and_application_files.shipped(
        "apps.toml"
    )


def test_the_ratios_of_three_rows_are_predicted_from_two() -> None:
    report = reproduce.ratios(Inputs(quick=True))
    assert report.values["cells"] == 36
    assert report.values["mean_error"] <= 0.03
    assert report.values["largest_error"] <= 0.13  # of 100 runs; 0.10 is for 1,000


def test_what_follows_from_2_7() -> None:
    assert [round(migration_break_even.least_alpha(sigma), 3) for sigma in (0.1, 0.3, 0.5)] == [
        1.06,
        1.304,
        2.414,
    ]
    assert [round(migration_break_even.least_alpha_printed(sigma), 3) for sigma in (0.1, 0.3, 0.5)] == [
        1.049,
        1.144,
        1.243,
    ]
    assert migration_break_even.least_alpha(0.62) == math.inf
    for sigma in (0.1, 0.4):
        for ratio in (1.0, 1.5):
            alpha = migration_break_even.least_alpha(sigma, ratio)
            gained = migration_break_even.met_by_checkpoints(alpha, sigma) - sigma
            assert gained * ratio == pytest.approx(1 - math.sqrt(1 - sigma))  # (2.4) with equality


@pytest.mark.slow
def test_observations_are_reported_whether_they_hold_or_not() -> None:
    findings = {
        finding.name: finding for finding in observation_checks.observations(Inputs(quick=True)).findings
    }
    assert findings["p-ckpt, CHIMERA"].holds
    assert findings["p-ckpt takes over"].holds
    assert {finding.holds for finding in findings.values()} == {True, False}
    assert all(finding.why for finding in findings.values() if finding.holds is False)
