"""Fencing on one node: the processes of an attempt found, killed and seen gone, and who has confirmed it."""
