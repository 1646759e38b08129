"""The limit of open files, which bounds the number of connected isolators: each connection is an open file.

The soft limit is often 1024; any process may raise its own up to the site's hard limit. The low soft limit
exists for programs that use select(2), which neither the coordinator nor its child processes do.
"""

from __future__ import annotations

import contextlib
import resource

# For the journal, workers' pipes, figures, and connections of the command line.
RESERVED = 100
FEW = 1000


def raise_limit() -> int:
    """Raise the soft limit of open files to the hard limit; return how many isolators may be connected."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        # Some systems accept less than the hard limit (macOS; a Linux kernel with a lower fs.nr_open).
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
            soft = hard
    most = 2**31 if soft == resource.RLIM_INFINITY else soft
    return max(most - RESERVED, 0)


def advice(most: int) -> str:
    """Return advice for the log on how to raise a low limit."""
    return (
        f"raise the hard limit of open files (ulimit -Hn: {most + RESERVED}) where the coordinator runs, "
        "in limits.conf or its service's LimitNOFILE, and start it again"
    )
