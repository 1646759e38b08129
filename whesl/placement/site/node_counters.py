"""Health counters of a node's kernel for memory, disks and links, and their changes between two readings.

The counters are of EDAC (``/sys/devices/system/edac``, kernel's ras.rst), the errors that ext4 and SCSI disks
have counted (``/sys/fs/ext4``, ``/sys/block``), degraded arrays (md), links (``/sys/class/net``,
``/sys/class/infiniband``), temperatures at their sensors' critical limits (``/sys/class/hwmon``, kernel's
sysfs-interface.rst), and SMART if ``smartctl`` is installed and may read the disks. A counter that cannot be
read is left out, and does not count as healthy.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from whesl.files.decode_errors import UNDECODABLE
from whesl.model.errors import WheslError

_LONGEST = 4096  # largest number of bytes read of a counter's file
_DISKS = 64  # largest number of disks that smartctl is asked about
_CRITICAL = range(20_000, 200_000)  # plausible critical temperatures in millidegrees Celsius
# Names of states, which hold at the time of reading; counters count past events.
STATES = ("disk failing", "disk offline", "array degraded", "temperature critical")
_ATTRIBUTES = {5: "reallocated sectors", 197: "pending sectors", 198: "uncorrectable sectors"}


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """One node's counters at one time.

    Attributes:
        node: the node's name.
        time: time of the reading, in seconds since the epoch.
        boot: identifier of the kernel's boot; counters restart with each boot.
        counters: value of each counter by name: ``memory corrected mc0``, ``disk errors sda``, ``link down
            eth0``, ...
    """

    node: str
    time: float
    boot: str = ""
    counters: dict[str, int] = {}


class Change(NamedTuple):
    """A counter that went up: the node, the time of the reading in epoch seconds, the kind, the details."""

    node: str
    time: float
    kind: str
    detail: str


def read(node: str, time: float, root: Path = Path("/"), *, smart: bool = True) -> Reading:
    """Read the counters of this machine.

    Args:
        node: name of this machine.
        time: the current time, in seconds since the epoch.
        root: the root of the file system with the counters' files.
        smart: whether ``smartctl`` is asked too.
    """
    counters = dict(_memory(root))
    counters |= dict(_disks(root))
    counters |= dict(_links(root))
    counters |= dict(_temperatures(root))
    if smart:
        counters |= dict(_smart(root))
    boot = _text(root / "proc/sys/kernel/random/boot_id")
    return Reading(node=node, time=time, boot=boot, counters=counters)


def _memory(root: Path) -> Iterator[tuple[str, int]]:
    for controller in _below(root / "sys/devices/system/edac/mc", "mc[0-9]*"):
        for name, file in (("corrected", "ce_count"), ("uncorrected", "ue_count")):
            yield from _counter(f"memory {name} {controller.name}", controller / file)


def _disks(root: Path) -> Iterator[tuple[str, int]]:
    for system in _below(root / "sys/fs/ext4", "*"):
        yield from _counter(f"file system errors {system.name}", system / "errors_count")
    for disk in _below(root / "sys/block", "*"):
        yield from _counter(f"disk errors {disk.name}", disk / "device/ioerr_cnt")
        yield from _counter(f"array degraded {disk.name}", disk / "md/degraded")
        state = _text(disk / "device/state")
        if state and state not in ("running", "live", "created"):
            yield f"disk offline {disk.name}", 1


def _links(root: Path) -> Iterator[tuple[str, int]]:
    for card in _below(root / "sys/class/net", "*"):
        # Virtual links have no device, and come and go with containers.
        if (card / "device").exists():
            yield from _counter(f"link down {card.name}", card / "carrier_down_count")
    for card in _below(root / "sys/class/infiniband", "*"):
        for port in _below(card / "ports", "[0-9]*"):
            name = f"{card.name}/{port.name}"
            yield from _counter(f"link down {name}", port / "counters/link_downed")
            yield from _counter(f"link errors {name}", port / "counters/symbol_error")


def _temperatures(root: Path) -> Iterator[tuple[str, int]]:
    for chip in _below(root / "sys/class/hwmon", "hwmon*"):
        for sensor in _below(chip, "temp[0-9]*_input"):
            number = sensor.name.partition("_")[0]
            name = f"temperature critical {chip.name}/{number}"
            alarm = dict(_counter(name, chip / f"{number}_crit_alarm"))
            now, limit = (dict(_counter(name, chip / f"{number}_{each}")) for each in ("input", "crit"))
            if alarm.get(name) or (limit.get(name) in _CRITICAL and now.get(name, 0) >= limit[name]):
                yield name, 1


def _smart(root: Path) -> Iterator[tuple[str, int]]:
    for disk in list(_below(root / "sys/block", "*"))[:_DISKS]:
        if not disk.name.startswith(("sd", "nvme")):
            continue
        try:
            done = subprocess.run(
                ["smartctl", "--json", "-H", "-A", f"/dev/{disk.name}"],
                capture_output=True,
                timeout=20,
                check=False,
                stdin=subprocess.DEVNULL,
            )
        except (OSError, subprocess.TimeoutExpired):
            return
        yield from smart_counters(disk.name, done.stdout)


def smart_counters(disk: str, answer: bytes) -> Iterator[tuple[str, int]]:
    """Yield a disk's counters from smartctl's JSON, if it has any.

    Args:
        disk: name of the disk.
        answer: output of ``smartctl --json -H -A``.
    """
    try:
        found = json.loads(answer)
        if found.get("smart_status", {}).get("passed") is False:
            yield f"disk failing {disk}", 1
        for row in found.get("ata_smart_attributes", {}).get("table", ()):
            if row.get("id") in _ATTRIBUTES:
                yield f"{_ATTRIBUTES[row['id']]} {disk}", int(row["raw"]["value"])
        log = found.get("nvme_smart_health_information_log", {})
        if "media_errors" in log:
            yield f"disk errors {disk}", int(log["media_errors"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return


def _below(folder: Path, pattern: str) -> list[Path]:
    try:
        return sorted(folder.glob(pattern))
    except OSError:
        return []


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_LONGEST).decode("ascii", "replace").strip()
    except OSError:
        return ""


def _counter(name: str, path: Path) -> Iterator[tuple[str, int]]:
    text = _text(path)
    try:
        yield name, int(text, 0)
    except ValueError:
        return


def changes(readings: Iterable[Reading]) -> Iterator[Change]:
    """Yield counters that went up from one reading of a node to its next.

    After another boot counters restart at 0. A state in a node's first reading is a change too; a counter's
    value is not, since it may be years old.

    Args:
        readings: the readings of all nodes, in any order.
    """
    before: dict[str, Reading] = {}
    for one in sorted(readings, key=lambda reading: (reading.node, reading.time)):
        last = before.get(one.node)
        before[one.node] = one
        for name, value in one.counters.items():
            kind, _, part = name.rpartition(" ")
            state = kind in STATES
            if last is None:
                earlier = 0 if state else value
            elif last.boot != one.boot and kind.startswith(("memory", "link", "disk errors")):
                earlier = 0
            else:
                earlier = last.counters.get(name, 0 if state else value)
            if value > earlier:
                more = f"{part}: {value - earlier} more" if not state else part
                yield Change(one.node, one.time, kind, more)


def load(paths: Sequence[Path]) -> tuple[list[Reading], list[tuple[Path, int, str]]]:
    """Read files of readings, one JSON object per line.

    Args:
        paths: files, or directories of files (``*.jsonl``).

    Returns:
        The readings, and the file, number and error of each invalid line.

    Raises:
        WheslError: a path cannot be read.
    """
    found: list[Reading] = []
    malformed: list[tuple[Path, int, str]] = []
    for path in paths:
        files = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
        for file in files:
            try:
                lines = file.read_bytes().splitlines()
            except OSError as error:
                raise WheslError(f"cannot read {file}: {error.strerror or error}") from error
            for number, line in enumerate(lines, 1):
                if not line.strip():
                    continue
                try:
                    found.append(msgspec.json.decode(line, type=Reading))
                except UNDECODABLE as error:
                    malformed.append((file, number, str(error)))
    return found, malformed
