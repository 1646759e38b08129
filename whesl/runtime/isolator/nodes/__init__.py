"""The nodes of a task: what agents and the resource manager tell of them, as events of the core."""
