"""Health of a task's nodes, checked before an attempt begins on them."""
