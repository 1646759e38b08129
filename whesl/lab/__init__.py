"""Policies and predictors on real traces, in simulated machines; ``whesl.api.lab`` is what others import."""
