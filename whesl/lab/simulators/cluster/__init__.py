"""One cluster of like nodes under a job log: compiled event loops, policies in plain Python, audit, measures.

A simulation has no I/O: a ``Workload`` and faults go in, ``Attempts`` come out.
"""
