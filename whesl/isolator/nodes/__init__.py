"""The nodes of a task: agents and their leases, liveness, fencing, processes."""
