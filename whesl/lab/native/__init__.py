"""The lab's functions in C: what takes most of the time of a long job log."""
