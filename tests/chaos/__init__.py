"""Chaos: a workflow on a real Slurm cluster whose nodes, disks, networks and daemons fail each second."""
