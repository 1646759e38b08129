"""Runs tasks and recovers them: from a line of output to a restarted attempt."""
