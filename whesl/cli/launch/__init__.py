"""Commands that start tasks and workflows."""
