"""Commands that ``whesl exec`` ran without a workflow, in groups: by day, job and directory.

They all belong to an endless workflow called ``exec``. Day, job and directory are in the tasks' own files, so
a report of one group does not open the journals of other groups.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable

import msgspec

from whesl.report.directories import TaskDirectory
from whesl.report.report_records import Group


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """Which commands to report; an empty field selects all of them."""

    day: str = ""
    directory: str = ""
    job: str = ""

    def has(self, found: TaskDirectory) -> bool:
        """Whether a command is selected."""
        return (
            self.day in ("", day(found.began))
            and self.directory in ("", found.task.workspace)
            and self.job in ("", found.job)
        )


def day(when: float) -> str:
    """Return the date of a time in the local time zone."""
    return time.strftime("%Y-%m-%d", time.localtime(when))


def grouped(found: Iterable[TaskDirectory]) -> dict[Group, list[TaskDirectory]]:
    """Return commands by their groups, the group of the newest command first."""
    newest_first = sorted(found, key=lambda item: -item.began)
    sizes = Counter((day(item.began), item.task.workspace, item.job) for item in newest_first)
    groups: dict[Group, list[TaskDirectory]] = {}
    for item in newest_first:
        key = day(item.began), item.task.workspace, item.job
        group = Group(*key if sizes[key] > 1 else key[:2])
        groups.setdefault(group, []).append(item)
    return groups
