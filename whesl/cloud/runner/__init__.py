"""Carrying a plan out: executors on a cluster and in a cloud, their tasks and data, and one owner of all."""
