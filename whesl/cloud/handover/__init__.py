"""A task that is handed over to another cluster of its user's, by ssh and the scheduler there."""
