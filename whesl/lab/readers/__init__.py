"""Readers of public trace formats: each gives arrays, and says by number which lines it could not use."""
