"""A recovery as the isolator sees it: decision, sequence, nodes, confirmation, escalation. Pure."""
