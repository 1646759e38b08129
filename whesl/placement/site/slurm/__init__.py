"""Placement in Slurm: the service that publishes and acts, and what is installed into slurmctld."""
