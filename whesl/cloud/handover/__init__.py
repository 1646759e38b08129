"""Hands a task over to another cluster of the user, by ssh and that cluster's scheduler."""
