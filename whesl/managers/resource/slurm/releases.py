"""One table of the behaviours of Slurm that have changed between releases.

Source: Slurm's own sources, 22.05.11 to 26.05.3. A release is the version's first two numbers, year and
    month.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum

from whesl.model.errors import CouldNotObserveError

Release = tuple[int, int]


class Ability(Enum):
    """A behaviour of Slurm: its first release, its sentence, and the first release without it, if any."""

    JSON_OF_ONE_JOB = (23, 2), "`squeue --json --jobs=ID` prints that job alone, and not all of them"
    STATUS_IN_TWO_PARTS = (23, 2), "squeue prints an exit status as `code:signal`, and not as a wait status"
    HOST_FILE_COUNTS = (23, 11), "srun refuses `--nodes` beside `--distribution=arbitrary`"
    CHANGES_AFTER_RESIZE = (
        (24, 11),
        "a job that has lost, given back or got a node takes changes without slurmdbd, too",
    )
    BLOCKS_SIGCHLD = (
        (25, 5),
        "scripts start with SIGCHLD blocked, so `wait` in a script of dash never ends (25.11.1 mends it)",
        (25, 11),
    )
    MERGE_MAY_KILL = (
        (25, 11),
        "slurmctld dies when a job gets the nodes of a second one, and either has no licenses",
    )
    KILLED_STEP_ENDS_HETJOB = (
        (25, 11),
        "SIGKILL for a step of a heterogeneous job ends the whole job; srun sends it "
        "when it is told to end beside a lost node",
    )
    STEP_IDS_IN_LIBRARY = (
        (25, 11),
        "functions of libslurm take a job's id in a structure, and not as a number",
    )
    EXPEDITED_REQUEUE = (25, 11), "sbatch knows `--requeue=expedite`"
    REQUEUE_DELAY = (
        (25, 11),
        "`SchedulerParameters=requeue_delay=` says how long a requeued job waits, else two minutes",
    )

    def __init__(self, since: Release, sentence: str, until: Release | None = None) -> None:
        self.since = since
        self.sentence = sentence
        self.until = until

    def of(self, release: Release) -> bool:
        """Whether a release has this behaviour."""
        return self.since <= release and (self.until is None or release < self.until)


def release(text: str) -> Release | None:
    """Return the release in a version's text: (22, 5) for ``slurm 22.05.8`` and for pyslurm's ``22.5.3``."""
    match = re.search(r"(\d+)\.(\d+)", text)
    return (int(match[1]), int(match[2])) if match else None


def controller_release(settings: Mapping[str, str]) -> Release:
    """Return slurmctld's release, which may be newer than the release of Slurm's commands.

    Args:
        settings: the settings of ``scontrol show config`` (``cluster_settings``).

    Raises:
        CouldNotObserveError: the settings name no release.
    """
    found = release(settings.get("SLURM_VERSION", ""))
    if found is None:
        raise CouldNotObserveError("scontrol show config names no SLURM_VERSION")
    return found
