"""The coordinator's clients: they start it, query it, and report lost and unregistered tasks to it."""
