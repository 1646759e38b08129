"""Two adapters for WHESL in a package of their own. All that they import of WHESL is ``whesl.api``."""
