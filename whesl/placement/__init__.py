"""Placement: policies that choose a job's nodes, and the parts that a site installs to apply them."""
