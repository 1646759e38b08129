"""The coordinator's clients: they start it, ask it, and tell it of lost and unregistered tasks."""
