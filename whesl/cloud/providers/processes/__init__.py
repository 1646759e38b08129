"""Instances that are processes of this machine: the nodes of a second embedded cluster."""
