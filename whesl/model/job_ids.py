"""Ids of jobs as resource managers write them."""

from __future__ import annotations

import re

_ELEMENT = re.compile(r"(\d+)_(?:\d+|\[.*\])")  # of Slurm
_PBS_ELEMENT = re.compile(r"(\d+)\[\d+\](.*)")


def submitted(job: str) -> str:
    """Return the id that the submission of a job was told: of an element of a job array, the whole array's.

    Args:
        job: the id, of any resource manager; ``12_3`` of Slurm and ``12[3].server`` of PBS are elements.
    """
    if found := _ELEMENT.fullmatch(job):
        return found[1]
    found = _PBS_ELEMENT.fullmatch(job)
    return f"{found[1]}[]{found[2]}" if found else job
