"""Reproduction of the evaluation of prioritized checkpoints."""
