"""The probes of ``whesl doctor``. Every probe is a function without arguments that returns findings."""
