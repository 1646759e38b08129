"""Processes of an attempt on all nodes of the job: agents, leases, liveness, fencing."""
