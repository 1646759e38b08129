"""The record of an attempt that ran on another cluster (``whesl cloud handover``)."""

from __future__ import annotations

import msgspec

FILE = "handovers.jsonl"  # in the task's directory: a record in each line


class HandedOver(msgspec.Struct, frozen=True, kw_only=True):
    """An attempt that ran on another cluster.

    Attributes:
        attempt: the attempt's number, 1 for the first one.
        cluster: the other cluster's name.
        job: the job's id there.
        submitted: seconds since the epoch.
        seconds: time from the submission to the end, in which the job here kept its nodes.
        status: the exit status; None where the run was given up.
        files: number of files that were brought back.
    """

    attempt: int
    cluster: str
    job: str
    submitted: float
    seconds: float
    status: int | None
    files: int
