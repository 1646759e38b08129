"""Workflows of Makeflow in JSON."""
