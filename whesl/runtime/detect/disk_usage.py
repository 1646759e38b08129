"""The usage of a file system: space, inodes, or the user's quota.

A failed measurement never counts as "full".

Space and inodes come from statvfs and are computed as in ``df``: relative to the part that an unprivileged
user can have. Quotas come from ``lfs quota`` on Lustre and from ``quota`` elsewhere (local and NFS); both
commands have a time limit, since a dead server makes them wait for ever. Measuring may block, so callers do
not do it in their event loop.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from pathlib import Path

from whesl.language.detections.base import DiskMetric, Usage
from whesl.model.errors import CouldNotObserveError
from whesl.runtime.detect.filesystem_type import LUSTRE, magic_of, mount_source

COMMAND_LIMIT = 5.0  # seconds for one quota command
_COLUMNS = (
    8  # columns of a quota line after the file system: used, soft, hard, grace for blocks, then for files
)


def space_fraction(blocks: int, free: int, available: int) -> float | None:
    """Return used / (used + available to users), from statvfs' block counts; None without any block.

    Args:
        blocks: blocks of the file system.
        free: free blocks.
        available: free blocks that an unprivileged user may use.
    """
    used = blocks - free
    return used / (used + available) if used + available > 0 else None


def inode_fraction(files: int, free: int, available: int) -> float | None:
    """Return used / (used + free) inodes; None where a file system does not count inodes (btrfs).

    Args:
        files: inodes of the file system.
        free: free inodes.
        available: free inodes that an unprivileged user may use.
    """
    return space_fraction(files, free, available)


def quota_fraction(rows: list[list[str]]) -> float | None:
    """Return the largest use of any limit in the rows of a quota listing.

    Args:
        rows: columns after the file system's name: used, soft, hard, grace for blocks, then for files; a star
            after a number marks a limit that was passed, 0 means no limit.

    Returns None when no row is readable, 0.0 when there is no limit at all.
    """
    fractions: list[float] = []
    for row in rows:
        if len(row) < _COLUMNS:
            continue
        for used, soft, hard in (row[0:3], row[4:7]):
            numbers = [_count(used), _count(soft), _count(hard)]
            if any(number is None for number in numbers):
                continue
            limits = [limit for limit in numbers[1:] if limit]
            fractions.append((numbers[0] or 0) / min(limits) if limits else 0.0)
    return max(fractions, default=None)


def quota_rows(text: str, source: str | None = None) -> list[list[str]]:
    """Return the rows of ``quota -w -p`` or ``lfs quota -q``, without the file system's name.

    A name that is too long for its column is on a line of its own.

    Args:
        text: the command's output.
        source: the file system whose rows count; None: all.
    """
    rows: list[list[str]] = []
    name = ""
    for line in text.splitlines():
        fields = line.split()
        if len(fields) == 1:
            name = fields[0]
        elif fields and _count(fields[0]) is not None and len(fields) >= _COLUMNS:
            rows += [fields[:_COLUMNS]] if source in (None, name) else []
        elif len(fields) > _COLUMNS and _count(fields[1]) is not None:
            rows += [fields[1 : _COLUMNS + 1]] if source in (None, fields[0]) else []
    return rows


def read_usage(path: str, metric: DiskMetric, *, real_path: str | None = None) -> Usage:
    """Measure a file system. May block on a dead server.

    Args:
        path: the path as the specification writes it.
        metric: what to measure.
        real_path: its present path, which a path map may have changed; ``path`` by default.

    Raises CouldNotObserveError when it cannot be seen.
    """
    place = _existing(real_path or path)
    if metric is DiskMetric.QUOTA:
        fraction = _read_quota(place)
    else:
        try:
            seen = os.statvfs(place)
        except OSError as error:
            raise CouldNotObserveError(f"the file system of {path} cannot be read: {error}") from None
        if metric is DiskMetric.SPACE:
            fraction = space_fraction(seen.f_blocks, seen.f_bfree, seen.f_bavail)
        else:
            fraction = inode_fraction(seen.f_files, seen.f_ffree, seen.f_favail)
    if fraction is None:
        raise CouldNotObserveError(f"the file system of {path} does not tell its {metric.value}")
    return Usage(path=path, metric=metric, fraction=fraction)


def _existing(path: str) -> str:
    """Return the nearest directory above a path that does not exist yet."""
    place = Path(path).absolute()
    while not place.exists() and place != place.parent:
        place = place.parent
    return str(place)


def _read_quota(place: str) -> float | None:
    try:
        lustre = magic_of(place) == LUSTRE
    except OSError as error:
        raise CouldNotObserveError(f"the file system of {place} cannot be read: {error}") from None
    if lustre:
        user = pwd.getpwuid(os.getuid()).pw_name
        return quota_fraction(quota_rows(_ask("lfs", "quota", "-q", "-u", user, place)[0]))
    said, complaint = _ask("quota", "-w", "-p")
    rows = quota_rows(said, mount_source(place))
    if not rows and not complaint:
        return 0.0  # the command answered without a limit of this user on this file system
    return quota_fraction(rows)


def _ask(command: str, *arguments: str) -> tuple[str, str]:
    """Run a quota command and return its standard output and standard error.

    Its exit status is no error: ``quota`` fails when a quota is exceeded.
    """
    found = shutil.which(command)
    if found is None:
        raise CouldNotObserveError(
            f"quotas cannot be read: {command} is not on PATH", hint="watch space instead of quota"
        )
    try:
        done = subprocess.run(
            [found, *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=COMMAND_LIMIT,
            check=False,
            env={**os.environ, "LC_ALL": "C"},
        )
    except subprocess.TimeoutExpired:
        raise CouldNotObserveError(f"{command} did not answer within {COMMAND_LIMIT:g} s") from None
    except OSError as error:
        raise CouldNotObserveError(f"{command} cannot be run: {error}") from None
    said = done.stdout.decode("utf-8", "replace").strip()
    complaint = done.stderr.decode("utf-8", "replace").strip()
    if not said:
        raise CouldNotObserveError(f"{command} said nothing" + (f": {complaint[:200]}" if complaint else ""))
    return said, complaint


def _count(text: str) -> int | None:
    digits = text.strip("*[]")
    return int(digits) if digits.isdecimal() else None
