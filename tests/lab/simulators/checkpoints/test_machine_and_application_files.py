"""Machines and codes as files: what they mean, and everything that is wrong with one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from whesl.lab.reproductions.checkpoints import reproduce
from whesl.lab.simulators.checkpoints import machine_and_application_files, prediction_lead_times
from whesl.lab.simulators.checkpoints.evaluate import times
from whesl.model.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

SUMMIT = machine_and_application_files.shipped("summit.toml")
APPS = machine_and_application_files.shipped("apps.toml")


def test_the_shipped_machine_is_the_document_s() -> None:
    summit, applications = machine_and_application_files.load(None, None)
    by_name = {application.name: application for application in applications}
    chimera = by_name["CHIMERA"]
    assert chimera.node_gb == pytest.approx(284.5, abs=0.05)
    took = times(summit, chimera)
    assert took.migration == pytest.approx(41.0, abs=0.05)  # 512 GB at 12.5 GB/s
    assert took.one_write == pytest.approx(21.1, abs=0.05)
    assert times(summit, by_name["XGC"]).migration == pytest.approx(23.7, abs=0.05)
    assert 23 <= times(summit, by_name["S3D"]).all_write <= 25
    assert [round(one.mean_hours, 2) for one in summit.failures] == [7.01, 84.04, 7.4]
    assert reproduce.calibrated(summit, by_name) == (summit.recall, summit.leads)


def test_bandwidth_lies_between_its_corners() -> None:
    summit, _ = machine_and_application_files.load(None, None)
    assert summit.aggregate(505, 40.0) == pytest.approx(850.0)
    assert 850 < summit.aggregate(1000, 40.0) < 1900
    assert summit.aggregate(10**6, 10**6) == pytest.approx(2500.0)  # beyond the ends: the ends


def test_everything_that_is_wrong_with_a_machine_is_said_at_once(tmp_path: Path) -> None:
    text = (
        SUMMIT.replace("dram_gb = 512", "dram_gb = -3")
        .replace("recall = 0.897", "recal = 0.9")
        .replace("shape = 0.6885", 'shape = "steep"')
        .replace("[burst_buffer]", "[burst_bufer]")
    )
    (tmp_path / "my.toml").write_text(text)
    with pytest.raises(UsageError) as error:
        machine_and_application_files.load(tmp_path / "my.toml", None)
    said = str(error.value)
    for part in (
        "dram_gb is -3",
        "'recall' is meant?",
        "recall is missing",
        "shape is 'steep'",
        "[burst_buffer] is",
    ):
        assert part in said
    assert all(re.search(r"my.toml:\d+: |  hint: ", line) for line in said.splitlines())


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("nodes = 2272", "nodes = 9999", "9999 nodes; Summit has 4608"),
        ("checkpoint_gb = 646382", "checkpoint_gb = 1e9", "its memory has 512"),
        ("hours = 360", "hours = nan", "hours is nan"),
        ("hours = 360", "hours = true", "hours is True"),
        ('name = "XGC"', 'name = "POP"', "two applications have the same name"),
        ("[[application]]", "[[aplication]]", "'application' is meant?"),
        ("nodes = 2272", "nodes = 2272 =", "apps.toml:5: no TOML"),
    ],
)
def test_what_is_wrong_with_codes_is_said(old: str, new: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "apps.toml").write_text(APPS.replace(old, new))
    with pytest.raises(UsageError) as error:
        machine_and_application_files.load(None, tmp_path / "apps.toml")
    assert said in str(error.value)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read"):
        machine_and_application_files.load(tmp_path / "none.toml", None)


def test_lead_times_come_out_of_ratios() -> None:
    curve = prediction_lead_times.calibrate(
        0.9, [(1.0, 0.9), (10.0, 0.45), (10.05, 0.45), (20.0, 0.5), (40.0, 0.09)]
    )
    assert prediction_lead_times.share_above(curve, 0.0) == 1.0
    assert (
        prediction_lead_times.share_above(curve, 5.5) > prediction_lead_times.share_above(curve, 15.0) > 0.1
    )
    assert prediction_lead_times.share_above(curve, 10.0) == pytest.approx(
        prediction_lead_times.share_above(curve, 20.0), abs=0.02
    )
    assert prediction_lead_times.share_above(curve, 1000.0) == 0.0
    with pytest.raises(UsageError):
        prediction_lead_times.calibrate(0.9, [(1.0, 0.5)])
