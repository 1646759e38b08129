"""Counters of a node, below a directory that stands for its root; readings and what two of them say."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from whesl.model.errors import WheslError
from whesl.placement.site.node_counters import Reading, changes, load, read, smart_counters


def write(root: Path, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write(tmp_path, "sys/devices/system/edac/mc/mc0/ce_count", "7\n")
    write(tmp_path, "sys/devices/system/edac/mc/mc0/ue_count", "0\n")
    write(tmp_path, "sys/fs/ext4/sda1/errors_count", "2\n")
    write(tmp_path, "sys/block/sda/device/ioerr_cnt", "0x1f\n")
    write(tmp_path, "sys/block/sda/device/state", "running\n")
    write(tmp_path, "sys/block/sdb/device/state", "offline\n")
    write(tmp_path, "sys/block/md0/md/degraded", "1\n")
    write(tmp_path, "sys/class/net/eth0/device/uevent", "")
    write(tmp_path, "sys/class/net/eth0/carrier_down_count", "3\n")
    write(tmp_path, "sys/class/net/veth0/carrier_down_count", "99\n")
    write(tmp_path, "sys/class/infiniband/mlx5_0/ports/1/counters/link_downed", "1\n")
    write(tmp_path, "sys/class/infiniband/mlx5_0/ports/1/counters/symbol_error", "12\n")
    write(tmp_path, "proc/sys/kernel/random/boot_id", "b1\n")
    return tmp_path


def test_what_is_there_is_read(root: Path) -> None:
    reading = read("n1", 10.0, root, smart=False)
    assert reading.boot == "b1"
    assert reading.counters == {
        "memory corrected mc0": 7,
        "memory uncorrected mc0": 0,
        "file system errors sda1": 2,
        "disk errors sda": 31,
        "disk offline sdb": 1,
        "array degraded md0": 1,
        "link down eth0": 3,
        "link down mlx5_0/1": 1,
        "link errors mlx5_0/1": 12,
    }


def test_what_is_not_there_or_no_number_is_left_out(root: Path, tmp_path: Path) -> None:
    assert read("n1", 0.0, tmp_path / "empty").counters == {}
    write(root, "sys/devices/system/edac/mc/mc0/ce_count", "many\n")
    assert "memory corrected mc0" not in read("n1", 0.0, root, smart=False).counters


@pytest.mark.parametrize(
    ("sensor", "critical"),
    [
        ({"input": 64_000, "crit": 95_000}, False),
        ({"input": 95_000, "crit": 95_000}, True),
        ({"input": 96_000, "crit": 95_000, "crit_alarm": 0}, True),
        ({"input": 40_000, "crit_alarm": 1}, True),  # of a driver that tells no limit
        ({"input": 40_000, "crit": 0}, False),
        ({"input": 70_000, "crit": 65_261_850}, False),
        ({"input": 99_000}, False),
    ],
)
def test_a_temperature_at_its_critical_limit(root: Path, sensor: dict[str, int], critical: bool) -> None:
    write(root, "sys/class/hwmon/hwmon1/temp2_input", "41000\n")
    before = read("n1", 0.0, root, smart=False)
    for name, value in sensor.items():
        write(root, f"sys/class/hwmon/hwmon1/temp2_{name}", f"{value}\n")
    found = changes([before, read("n1", 1.0, root, smart=False)])
    wanted = [("temperature critical", "hwmon1/temp2")] if critical else []
    assert [(change.kind, change.detail) for change in found if change.time == 1.0] == wanted


def test_this_machine_can_be_read() -> None:
    assert read("n1", 0.0).node == "n1"


def test_a_counter_that_went_up_is_a_change_and_an_old_one_is_not() -> None:
    first = Reading(
        node="n1", time=1.0, boot="a", counters={"memory corrected mc0": 900, "disk failing sda": 1}
    )
    same = msgspec.structs.replace(first, time=2.0)
    more = msgspec.structs.replace(first, time=3.0, counters={"memory corrected mc0": 903})
    found = list(changes([more, first, same]))
    assert [(one.time, one.kind, one.detail) for one in found] == [
        (1.0, "disk failing", "sda"),
        (3.0, "memory corrected", "mc0: 3 more"),
    ]


def test_counters_of_the_kernel_begin_anew_with_a_boot() -> None:
    first = Reading(
        node="n1", time=1.0, boot="a", counters={"memory corrected mc0": 50, "pending sectors sda": 4}
    )
    second = Reading(
        node="n1", time=2.0, boot="b", counters={"memory corrected mc0": 2, "pending sectors sda": 4}
    )
    assert [one.detail for one in changes([first, second])] == ["mc0: 2 more"]


def test_smart_of_disks_of_both_kinds() -> None:
    answer = {
        "smart_status": {"passed": False},
        "ata_smart_attributes": {
            "table": [
                {"id": 5, "raw": {"value": 8}},
                {"id": 9, "raw": {"value": 1}},
                {"id": 197, "raw": {"value": 2}},
            ]
        },
    }
    assert dict(smart_counters("sda", json.dumps(answer).encode())) == {
        "disk failing sda": 1,
        "reallocated sectors sda": 8,
        "pending sectors sda": 2,
    }
    drive = {"nvme_smart_health_information_log": {"media_errors": 3}}
    assert dict(smart_counters("nvme0n1", json.dumps(drive).encode())) == {"disk errors nvme0n1": 3}
    for nothing in (b"", b"[]", b"{}", b"null", b'{"ata_smart_attributes": {"table": [{"id": 5}]}}'):
        assert dict(smart_counters("sda", nothing)) == {}


def test_files_of_readings_with_lines_that_are_none(tmp_path: Path) -> None:
    good = msgspec.json.encode(Reading(node="n1", time=1.0))
    (tmp_path / "n1.jsonl").write_bytes(good + b"\n\nnot json\n" + good[:-4])
    readings, malformed = load([tmp_path])
    assert len(readings) == 1
    assert [(path.name, line) for path, line, _ in malformed] == [("n1.jsonl", 3), ("n1.jsonl", 4)]
    with pytest.raises(WheslError):
        load([tmp_path / "none"])
