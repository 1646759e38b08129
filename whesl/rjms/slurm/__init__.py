"""Slurm 22.05 and newer, by its commands: SlurmScheduler (outside) and SlurmAllocation (inside).

Looks at running jobs go through pyslurm where it is installed and matches (``bindings``). Nodes never do: it
does not tell that a node does not respond.
"""

from whesl.rjms.slurm.allocation import SlurmAllocation
from whesl.rjms.slurm.scheduler import SlurmScheduler

__all__ = ["SlurmAllocation", "SlurmScheduler"]
