"""Pure decisions about the instances behind Slurm's CLOUD nodes."""
