"""Defects that the suite has found and that are not mended yet.

Each has to show in one at least of the cases that it names, where that is no matter of chance: what is mended
has to be taken out.
"""

from __future__ import annotations

from tests.neutrality.comparing import Known

KNOWN: tuple[Known, ...] = (
    Known(
        cases=("node-lost",),
        aspects=("messages:*",),
        reason="Slurm says of the agents' step, too, that it ends for a lost node",
        sometimes=True,
    ),
    Known(
        cases=("node-lost*",),
        ways=("run*", "exec*", "observe*"),
        aspects=("*",),
        reason="at times the job is run again although its script says --no-requeue",
        sometimes=True,
    ),
    Known(
        cases=("requeue-at-warning",),
        aspects=("*",),
        reason="at times, on a busy machine, the job ends before its own requeue has come",
        sometimes=True,
    ),
    Known(
        cases=("preempted-requeue",),
        aspects=("file:signals",),
        reason="TERM is told twice at times, as two signals that come one after the other",
        sometimes=True,
    ),
)
