"""Batch scripts for sbatch: one, several with dependencies, job arrays."""
