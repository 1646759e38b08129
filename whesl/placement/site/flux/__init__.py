"""Placement in Flux: the order of ranks for the scheduler module, and loading the module into an instance."""
