"""What only tests of WHESL itself need: faults of file systems, a strict stand-in for AWS."""
