"""The lab's functions in C: the most time-consuming parts of simulating and reading long job logs."""
