"""Simulators, one for each kind of machine."""
