"""Workflows of Cylc."""
