"""Simulation of plans over a cluster and a cloud, under several schedulers and job logs."""
