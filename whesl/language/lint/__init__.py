"""Checks for valid rules that cannot work: findings are warnings, errors with ``whesl check --strict``."""
