"""Predictors fitted to the past of a machine and scored on its future."""
