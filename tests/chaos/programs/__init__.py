"""What the tasks of the chaos run."""
