"""Checkpoint models: which of periodic, safeguard, migration and prioritized checkpoints suits a code.

Models B, M1, M2, P1 and P2 of the dissertation, chapter 2, on machines and codes that users describe in two
files.
"""
