"""Fencing on one node: the processes of an attempt are found, killed and seen to be gone."""
