"""Decisions about nodes from their risks. Pure."""
