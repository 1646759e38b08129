"""Slurm 22.05 and newer, by its commands: SlurmScheduler (outside) and SlurmAllocation (inside).

Not by pyslurm: it answers in 2 ms where squeue takes 10, but it holds the interpreter's lock while it waits
for slurmctld. With slurmctld stopped, pyslurm 22.5.3 kept every other thread from running until
MessageTimeout (4 s in that measurement, 10 s by default), in which a daemon sends no heartbeat. It does not
tell that a node does not respond, either.
"""

from whesl.rjms.slurm.allocation import SlurmAllocation
from whesl.rjms.slurm.scheduler import SlurmScheduler

__all__ = ["SlurmAllocation", "SlurmScheduler"]
