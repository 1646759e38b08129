"""The agents on the nodes of a job: their leases, and the fencing of an attempt's processes."""
