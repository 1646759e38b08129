"""What is said when the resource manager takes no step, or no launcher can be read: nothing has begun. Pure.

Only what may pass: the controller is away or busy, the job's nodes or their memory are held by a step that is
ending (by the word of a controller that was just started, too). A request that can never be met (too many
tasks, a wrong option) is the program's own affair.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

# src/srun/libsrun/allocate.c, src/plugins/launch/slurm/launch_slurm.c, src/common/slurm_errno.c of
# slurm-22-05-2-1; the embedded resource manager's commands say the same.
_SRUN = re.compile(
    r"srun: error: "
    r"(?:Unable to (?:confirm allocation for job \S+|create step for job \S+|allocate resources): )?"
    r"(?:Unable to contact slurm controller|Socket timed out on send/recv operation"
    r"|Zero Bytes were transmitted or received|Communication connection failure|Requested nodes are busy"
    r"|Job/step already completing or completed|Unexpected message received"
    r"|Memory required by task is not available|Slurm job \S+ has expired"
    r"|Required node not available \(down, drained or reserved\))"
)
# src/bindings/python/flux/core/handle.py and src/common/libflux/connector_local.c of flux-core 0.88; what
# ends a submission in a broker or job manager that is going away.
_FLUX = re.compile(
    r"flux-(?:run|submit|job): (?:ERROR: )?(?:Unable to connect to Flux|flux_open: "
    r"|(?:\[Errno \d+\] )?(?:(?:job )?submission is disabled|Connection reset by peer|Broken pipe"
    r"|broker is shutting down))"
)
# shell_execve in execute_cmd.c of bash 5.2, and cat(1): the launcher, its shim or the script in WHESL_HOME is
# on a file system that fails for the moment.
_UNREAD = re.compile(
    r"(?:\S+: (?:line \d+: )?)?/[^:]*/(?:srun|flux|mpirun|mpiexec|attempt-\d+/script): "
    r"(?:/[^:]*: )?(?:cannot execute: )?"
    r"(?:Input/output error|Stale (?:NFS )?file handle)$"
)


def refusal(lines: Sequence[str]) -> str:
    """Return the line that says why no step was taken, "" when none does.

    Args:
        lines: the last few of a failed attempt: what was refused earlier, and went on, is past.
    """
    for line in reversed(lines):
        if _SRUN.match(line) or _FLUX.match(line) or _UNREAD.match(line):
            return line
    return ""
