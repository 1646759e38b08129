"""Functions behind commands and ``whesl.api``: exceptions from outside, logs, workflows, leftovers."""
