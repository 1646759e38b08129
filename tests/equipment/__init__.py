"""What only tests and benchmarks of WHESL need: clusters, stand-ins, file systems, faults."""
