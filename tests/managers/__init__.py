"""Workflow managers that know nothing of WHESL, on a real Slurm."""
