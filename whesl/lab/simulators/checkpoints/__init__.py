"""Simulation of checkpoint models: periodic, safeguard and prioritized checkpoints, and live migration.

The models are B, M1, M2, P1 and P2 of the dissertation, chapter 2. Users describe machines and applications
in two TOML files.
"""
