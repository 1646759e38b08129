"""Simulation of one cluster of equal nodes under a job log: event loops, audit, measures.

Simulations do no I/O: the input is a ``Workload`` and faults, the output is ``Attempts``.
"""
