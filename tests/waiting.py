"""Waiting for something to become true, bounded."""

from __future__ import annotations

from pathlib import Path

from whesl.testing.waiting import looks, until

__all__ = ["looks", "until", "written"]

# Lifts the two minutes' hold that Slurm puts on a requeued job. Not at once: a run's end revokes the
# credentials of its second, and slurmd refuses a run that begins in that second ("Job credential revoked").
# Such a job fails with status 1 and no output, a plain one, too (2 of 8 with 22.05.8, the others were later).
HOLD_LIFTED = "StartTime=now+2"


def written(path: Path) -> str:
    """Return the lines of a file, or nothing yet: a shell makes a file first and writes it then."""
    text = path.read_text() if path.exists() else ""
    return text if text.endswith("\n") else ""
