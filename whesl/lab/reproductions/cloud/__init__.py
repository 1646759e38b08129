"""Reproduction of the evaluation of workflows on a cluster and a cloud."""
