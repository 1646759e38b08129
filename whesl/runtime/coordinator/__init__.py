"""The coordinator: a user's central daemon. It owns tasks, their dependents, and workflow-level recovery."""
