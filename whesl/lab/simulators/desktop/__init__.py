"""Simulation of desktop grids: jobs with a required reliability on machines that restart every day."""
