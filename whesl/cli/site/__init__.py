"""Commands about the machine, its nodes and the daemons."""
