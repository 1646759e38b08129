"""The central daemon of a user: the hierarchy of tasks, workflow-level recovery, what is never done twice."""
