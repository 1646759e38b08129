"""Snapshots of the coordinator's state, and how it is restored from them."""
