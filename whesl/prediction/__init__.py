"""What is about to happen: failures of nodes, chains of messages before them, nodes that become free."""
