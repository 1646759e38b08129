"""Placement in Slurm: the service that publishes and acts, and the installation of its plugins."""
