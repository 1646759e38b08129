"""Failure predictors: which node will fail, with what probability, and how good such answers were.

Histories of failures in, probabilities for nodes and intervals out. Needs the extra ``predict``.
"""
