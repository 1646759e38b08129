"""Reproductions of published results: which statements hold, which do not, by how much, and why."""
