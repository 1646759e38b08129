"""Rules that are well formed and cannot work: each is a warning, an error for ``whesl check --strict``."""
