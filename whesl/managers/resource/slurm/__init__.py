"""Slurm 22.05 and newer, by its commands: ``scheduler`` (outside) and ``allocation`` (inside).

Looks at running jobs go through pyslurm where it is installed and matches (``pyslurm_client``). Nodes never
do: pyslurm does not tell that a node does not respond.
"""
