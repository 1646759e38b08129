"""A site's own bursting: Slurm's CLOUD nodes as instances of a provider, and a reaper of orphans."""
