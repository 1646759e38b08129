"""Placement in Flux: the order of ranks for its scheduler module, and the module's life in an instance."""
