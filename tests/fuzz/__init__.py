"""Garbage, truncated and foreign input: one harness for each thing that is read (docs/testing.md)."""
