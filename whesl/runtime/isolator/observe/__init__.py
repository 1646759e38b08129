"""What the isolator sees: the task's output, and what the resource manager tells."""
