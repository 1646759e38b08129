"""Simulations of policies and predictors on real traces; other packages import ``whesl.api.lab`` alone."""
