"""Behaviour of Slurm that has changed with a release: one table, used at run time.

Source: Slurm's own sources, 22.05.11 to 26.05.3. A release has two numbers, the year and the month, and what
follows them changes nothing here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum

from whesl.model.errors import CouldNotObserveError

Release = tuple[int, int]


class Ability(Enum):
    """A behaviour that Slurm has from a release on: the release, and a sentence."""

    JSON_OF_ONE_JOB = (23, 2), "`squeue --json --jobs=ID` prints that job alone, and not all of them"
    STATUS_IN_TWO_PARTS = (23, 2), "squeue prints an exit status as `code:signal`, and not as a wait status"
    HOST_FILE_COUNTS = (23, 11), "srun refuses `--nodes` beside `--distribution=arbitrary`"
    CHANGES_AFTER_RESIZE = (
        (24, 11),
        "a job that has lost or given back a node takes changes without slurmdbd, too",
    )
    EXPEDITED_REQUEUE = (25, 11), "sbatch knows `--requeue=expedite`"
    REQUEUE_DELAY = (
        (25, 11),
        "`SchedulerParameters=requeue_delay=` says how long a requeued job waits, else two minutes",
    )

    @property
    def since(self) -> Release:
        """The first release with this behaviour."""
        return self.value[0]

    @property
    def sentence(self) -> str:
        """The behaviour in a sentence."""
        return self.value[1]

    def of(self, release: Release) -> bool:
        """Whether a release has this behaviour."""
        return release >= self.since


def release(text: str) -> Release | None:
    """Return (year, month) of a version: ``slurm 22.05.8`` and pyslurm's ``22.5.3`` are both (22, 5)."""
    match = re.search(r"(\d+)\.(\d+)", text)
    return (int(match[1]), int(match[2])) if match else None


def controller_release(settings: Mapping[str, str]) -> Release:
    """Return slurmctld's release, which may be newer than that of the commands.

    Args:
        settings: what ``scontrol show config`` says.

    Raises:
        CouldNotObserveError: it does not say that.
    """
    found = release(settings.get("SLURM_VERSION", ""))
    if found is None:
        raise CouldNotObserveError("scontrol show config names no SLURM_VERSION")
    return found
