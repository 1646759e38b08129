"""Failure predictors: the probability that each node fails, and measures of prediction quality.

A predictor turns a failure history into a probability for each node and interval. Needs the extra
``predict``.
"""
