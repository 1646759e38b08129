"""Predictions: node failures, chains of log messages that precede them, and the number of free nodes."""
