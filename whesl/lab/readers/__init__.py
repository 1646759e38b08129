"""Readers of public trace formats: each returns arrays and lists the lines that cannot be read."""
