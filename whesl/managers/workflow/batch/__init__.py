"""Batch scripts for sbatch, flux and qsub: one, several with dependencies, job arrays."""
