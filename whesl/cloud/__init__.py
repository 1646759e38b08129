"""Workflows on a cluster and a cloud: plans with a price and a probability, and their execution."""
