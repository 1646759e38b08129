"""Workflows of Snakemake."""
