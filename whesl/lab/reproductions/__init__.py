"""Published results, run again: what holds, what does not, by how much, and why."""
