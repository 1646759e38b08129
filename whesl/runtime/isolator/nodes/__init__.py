"""The nodes of a task: reports of agents and the resource manager, turned into events of the core."""
