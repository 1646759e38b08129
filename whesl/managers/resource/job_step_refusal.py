"""Recognises launchers' messages on a step that did not start, because of a cause that passes. Pure.

Such causes: the controller is away or busy, an ending step still holds the job's nodes or their memory, a
file system fails for the moment. A request that can never be met (too many tasks, a wrong option) is an error
of the program itself, and not recognised here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

# srun's messages, from src/srun/libsrun/allocate.c, src/plugins/launch/slurm/launch_slurm.c and
# src/common/slurm_errno.c of slurm-22-05-2-1; the embedded resource manager's commands print the same.
_SRUN = re.compile(
    r"srun: error: "
    r"(?:Unable to (?:confirm allocation for job \S+|create step for job \S+|allocate resources): )?"
    r"(?:Unable to contact slurm controller|Socket timed out on send/recv operation"
    r"|Zero Bytes were transmitted or received|Communication connection failure|Requested nodes are busy"
    r"|Job/step already completing or completed|Unexpected message received"
    r"|Memory required by task is not available|Slurm job \S+ has expired"
    r"|Required node not available \(down, drained or reserved\))"
)
# Messages of flux commands whose broker or job manager shuts down, from
# src/bindings/python/flux/core/handle.py and src/common/libflux/connector_local.c of flux-core 0.88.
_FLUX = re.compile(
    r"flux-(?:run|submit|job): (?:ERROR: )?(?:Unable to connect to Flux|flux_open: "
    r"|(?:\[Errno \d+\] )?(?:(?:job )?submission is disabled|Connection reset by peer|Broken pipe"
    r"|broker is shutting down))"
)
# Messages of bash 5.2 (shell_execve in execute_cmd.c) and cat(1) when the launcher, its shim or the script in
# WHESL_HOME is on a file system that fails for the moment.
_UNREAD = re.compile(
    r"(?:\S+: (?:line \d+: )?)?/[^:]*/(?:srun|flux|mpirun|mpiexec|attempt-\d+/script): "
    r"(?:/[^:]*: )?(?:cannot execute: )?"
    r"(?:Input/output error|Stale (?:NFS )?file handle)$"
)


def refusal(lines: Sequence[str]) -> str:
    """Return the last line that tells why a step did not start, "" without such a line.

    Args:
        lines: the last few output lines of a failed attempt; earlier refusals did not end the attempt.
    """
    for line in reversed(lines):
        if _SRUN.match(line) or _FLUX.match(line) or _UNREAD.match(line):
            return line
    return ""
