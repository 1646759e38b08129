"""The task's output and the resource manager's reports, as the isolator observes them."""
