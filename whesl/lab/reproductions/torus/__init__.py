"""Reproduction of the evaluation of fault-aware scheduling on a torus."""
