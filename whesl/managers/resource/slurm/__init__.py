"""Slurm 22.05 and newer, by its commands: ``scheduler`` (outside) and ``allocation`` (inside).

Queries on running jobs use pyslurm where it is installed and fits Slurm's release (``pyslurm_client``).
Queries on nodes never do: pyslurm does not show that a node does not respond.
"""
