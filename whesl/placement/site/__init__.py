"""Placement at a site: what its history says of its nodes, and how its schedulers are told."""
