"""A node's jobs are told that their node is predicted to fail, each by a process of its owner.

The hook ``plugins/pbs/whesl_ckpt.py`` runs this module as root, beside PBS's daemon on the node, and writes
the node's jobs to its standard input. What is predicted comes from the counters of the node's kernel and,
where it is given, from a file of predictions.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import os
import pwd
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import msgspec

from whesl.files.decode_errors import UNDECODABLE
from whesl.model.errors import WheslError
from whesl.model.evidence import PredictedFailure
from whesl.placement.site import node_counters
from whesl.placement.site.counter_predictions import predicted
from whesl.placement.site.history import prediction_file
from whesl.placement.site.node_counters import Reading

EVERY = 30  # seconds between two looks
_STALE = 3.0 * EVERY  # a reading older than this many seconds says nothing of the jobs that run now
_MOST = 8  # greatest number of predictions that one look reports to a job, the surest first
_AT_ONCE = 4  # jobs that get their reports at the same time
_PATIENCE = 25.0  # seconds that a report to one job may take
_BYTES = 1 << 20  # bytes of the largest input, and of the largest file of reports
# The owner's part: nothing is loaded for an owner who has no WHESL home.
_TELL = '[ -d "${WHESL_HOME:-$HOME/.whesl}" ] && exec "$@"'


class Job(msgspec.Struct, frozen=True):
    """A job of the node. ``owner``: the account's name; ``home``: its WHESL home, "" for the usual one."""

    id: str
    owner: str
    home: str = ""


class Asked(msgspec.Struct, frozen=True):
    """What the hook writes: the node's name in PBS, and the jobs that run there."""

    node: str
    jobs: list[Job]


class Kept(msgspec.Struct, frozen=True):
    """What the next look has to know.

    ``reading``: the last reading of the counters. ``told``: pairs of a prediction's id and a job, with the
    time at which the predicted failure is past, in seconds since the epoch.
    """

    reading: Reading | None = None
    told: dict[str, float] = {}


class Due(NamedTuple):
    """A prediction that a job has to be told. Predictions with the same id are one for WHESL's runtime."""

    job: Job
    id: str
    prediction: PredictedFailure


def due(
    kept: Kept, now: Reading, recorded: Iterable[PredictedFailure], jobs: Sequence[Job]
) -> tuple[list[Due], Kept]:
    """Return the messages that are due, each with the job it goes to, and the state for the next look.

    Args:
        kept: what the last look has kept.
        now: the present reading of the node's counters.
        recorded: predictions from a file, of any node and time; of several for this node the last one counts.
        jobs: the jobs of the node.
    """
    before = kept.reading
    if before is not None and not 0 <= now.time - before.time <= _STALE:
        before = None
    until_now = (one for one in recorded if one.time <= now.time + _STALE)  # clocks differ a little
    ours = [one for one in until_now if _short(one.node) == _short(now.node)]
    found = [*predicted(before, now), *sorted(ours, key=lambda one: one.time)[-1:]]
    coming = [one for one in found if one.time + one.lead > now.time]
    told = {pair: until for pair, until in kept.told.items() if until > now.time}
    new: list[Due] = []
    for one in sorted(coming, key=lambda one: -one.confidence)[:_MOST]:
        identity = hashlib.sha256(msgspec.json.encode(one)).hexdigest()[:32]
        for job in jobs:
            if f"{identity} {job.id}" not in told:
                told[f"{identity} {job.id}"] = one.time + one.lead
                new.append(Due(job, identity, msgspec.structs.replace(one, node=now.node)))
    return new, Kept(reading=now, told=told)


def _short(node: str) -> str:
    return node.partition(".")[0]


def tell(one: Due) -> None:
    """Tell a job's tasks a prediction, in a process of the job's owner that is ended after a time.

    Args:
        one: the prediction and the job.
    """
    account = pwd.getpwnam(one.job.owner)
    names = {"HOME": account.pw_dir, "USER": account.pw_name, "LOGNAME": account.pw_name}
    home = {"WHESL_HOME": one.job.home} if one.job.home else {}
    said = one.prediction.at(time.time())
    words = {"lead": f"{said.lead:.1f}", "confidence": f"{said.confidence:g}", "evidence": said.evidence}
    options = [f"--{name}={value}" for name, value in {**words, "source": said.source, "id": one.id}.items()]
    whesl = [sys.executable, "-I", "-m", "whesl", "ckpt", "predict", *options, "--", said.node]
    subprocess.run(
        ["/bin/sh", "-c", _TELL, "sh", *whesl],
        env={"PATH": os.defpath, "PBS_JOBID": one.job.id, **names, **home},
        user=account.pw_uid,
        group=account.pw_gid,
        extra_groups=os.getgrouplist(account.pw_name, account.pw_gid),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        timeout=_PATIENCE,
        check=False,
    )


def look(state: Path, predictions: Path | None, asked: Asked) -> None:
    """Look once, and tell what has to be told. A look that another one is still busy with does nothing.

    Args:
        state: the file for what the next look has to know, in a directory of root.
        predictions: the file of predictions (``prediction_file``); None for none.
        asked: the node and its jobs.
    """
    with state.open("a+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        file.seek(0)
        try:
            kept = msgspec.json.decode(file.read(_BYTES), type=Kept)
        except UNDECODABLE:
            kept = Kept()
        now = node_counters.read(asked.node, time.time(), smart=False)
        new, kept = due(kept, now, _recorded(predictions), asked.jobs)
        with ThreadPoolExecutor(_AT_ONCE) as tellers:
            for one in new:
                tellers.submit(tell, one)
        file.truncate(0)
        file.write(msgspec.json.encode(kept))


def _recorded(path: Path | None) -> Iterator[PredictedFailure]:
    """Yield the predictions of a file, none where it is no plain file or cannot be read."""
    try:
        if path is not None and path.is_file():
            yield from prediction_file.read(path).predictions
    except (OSError, WheslError):
        return


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("state", type=Path)
    parser.add_argument("--predictions", type=Path)
    arguments = parser.parse_args()
    os.nice(10)
    os.umask(0o077)
    given = msgspec.json.decode(sys.stdin.buffer.read(_BYTES), type=Asked)
    look(arguments.state, arguments.predictions, given)
