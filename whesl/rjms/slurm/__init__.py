"""Slurm 22.05 and newer, by its commands: SlurmScheduler (outside) and SlurmAllocation (inside).

Looks at running jobs go through pyslurm where it is installed and matches (``bindings``). Nodes never do: it
does not tell that a node does not respond.

Loaded when they are asked for: what starts a task needs neither.
"""

from __future__ import annotations

TYPE_CHECKING = False  # typing costs milliseconds
if TYPE_CHECKING:
    from whesl.rjms.slurm.allocation import SlurmAllocation
    from whesl.rjms.slurm.scheduler import SlurmScheduler

__all__ = ["SlurmAllocation", "SlurmScheduler"]


def __getattr__(name: str) -> object:
    """Load one of the two."""
    if name == "SlurmAllocation":
        from whesl.rjms.slurm.allocation import SlurmAllocation

        return SlurmAllocation
    if name == "SlurmScheduler":
        from whesl.rjms.slurm.scheduler import SlurmScheduler

        return SlurmScheduler
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
