"""WHESL: the fault-tolerance runtime for HPC workflows."""

__version__ = "0.1.0"
