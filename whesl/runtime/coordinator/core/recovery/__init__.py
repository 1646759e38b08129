"""The coordinator's part of recoveries: its own steps, dependents, escalated exceptions. Pure."""
