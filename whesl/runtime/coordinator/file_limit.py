"""How many isolators can be connected: each connection is an open file, and these are limited.

The soft limit is often 1024 and may be raised by anybody up to the hard one, which is the site's. Nothing
here or in what is started uses select(2), which the low soft limit is there for.
"""

from __future__ import annotations

import contextlib
import resource

# For the journal, workers' pipes, figures, and connections of the command line.
RESERVED = 100
FEW = 1000


def raise_limit() -> int:
    """Raise the soft limit of open files to the hard one; return how many isolators may be connected then."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        # Some systems have a lower limit than they say (macOS; a kernel with a lower fs.nr_open).
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
            soft = hard
    most = 2**31 if soft == resource.RLIM_INFINITY else soft
    return max(most - RESERVED, 0)


def advice(most: int) -> str:
    """Return an advice on too low a limit, for a log."""
    return (
        f"raise the hard limit of open files (ulimit -Hn: {most + RESERVED}) where the coordinator runs, "
        "in limits.conf or its service's LimitNOFILE, and start it again"
    )
