"""What the coordinator does for recoveries: its steps, dependents, exceptions that were escalated. Pure."""
