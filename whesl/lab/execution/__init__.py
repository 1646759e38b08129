"""Parallel execution of simulations in worker processes, and the interface of progress displays."""
