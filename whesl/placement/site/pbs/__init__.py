"""Placement in PBS: the hook's decisions and its installation."""
