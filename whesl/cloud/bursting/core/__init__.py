"""What is decided about instances for Slurm's CLOUD nodes. Pure."""
