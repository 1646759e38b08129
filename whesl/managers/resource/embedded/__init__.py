"""The in-tree resource manager: virtual nodes on this machine that queue, run, kill and get lost."""
