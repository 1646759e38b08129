"""Writes the logs of a made-up site as Slurm prints them: python made_up_site.py DIR [SEED]

Synthetic: 16 nodes, 40 days, jobs of one to four nodes. Two nodes fail every two days on average, the
others every 400 days; a failure takes an hour. Nothing in it is of a real machine.
"""

from __future__ import annotations

import sys
from datetime import datetime, timezone
from pathlib import Path

import numpy as np

BEGIN = datetime(2026, 3, 2, tzinfo=timezone.utc).timestamp()
NODES, BAD, DAYS, DAY = 16, 2, 40, 86400.0


def stamp(time: float) -> str:
    """Return a time as Slurm prints it, in UTC."""
    return datetime.fromtimestamp(time, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S")


def events(draw: np.random.Generator) -> str:
    """Return what ``sacctmgr -P show event`` prints."""
    lines = ["Cluster|NodeName|TimeStart|TimeEnd|State|Reason|User"]
    for node in range(NODES):
        lines.append(f"site|n{node + 1:02}|{stamp(BEGIN)}|{stamp(BEGIN)}|UNK|cold-start|root(0)")
        for time in np.cumsum(draw.exponential((2 if node < BAD else 400) * DAY, 200)):
            if time < DAYS * DAY:
                span = f"{stamp(BEGIN + time)}|{stamp(BEGIN + time + 3600)}"
                lines.append(f"site|n{node + 1:02}|{span}|DOWN*|Not responding|root(0)")
    return "\n".join(lines) + "\n"


def jobs(draw: np.random.Generator) -> str:
    """Return what ``sacct -aDXP`` prints."""
    lines = ["JobID|State|Submit|Start|End|TimelimitRaw|NNodes|NodeList"]
    for job, time in enumerate(np.cumsum(draw.exponential(2400, 2000)), 1):
        if time > (DAYS - 2) * DAY:
            break
        submit, size, run = BEGIN + time, int(draw.integers(1, 5)), draw.uniform(1800, 21600)
        start, first = submit + draw.exponential(600), int(draw.integers(1, NODES - size + 2))
        span = f"{stamp(submit)}|{stamp(start)}|{stamp(start + run)}"
        lines.append(f"{job}|COMPLETED|{span}|600|{size}|n[{first:02}-{first + size - 1:02}]")
    return "\n".join(lines) + "\n"


def main(out: Path, seed: int = 1) -> None:
    """Write ``jobs.txt`` and ``events.txt``."""
    draw = np.random.default_rng(seed)
    out.mkdir(parents=True, exist_ok=True)
    (out / "events.txt").write_text(events(draw))
    (out / "jobs.txt").write_text(jobs(draw))


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:3]))
