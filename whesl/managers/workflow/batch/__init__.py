"""Batch scripts for sbatch, flux and qsub: single scripts, scripts with dependencies, job arrays."""
