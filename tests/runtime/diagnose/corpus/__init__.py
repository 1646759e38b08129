"""Logs composed from the formats of programs, seeded: what ``whesl why`` is measured on (docs/why.md)."""
