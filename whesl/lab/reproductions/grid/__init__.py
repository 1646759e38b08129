"""Reproduction of the evaluation of job scheduling on several clusters."""
