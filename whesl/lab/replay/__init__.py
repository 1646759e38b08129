"""Replay of a site's logs under other policies and predictors, to estimate the savings."""
