"""WHESL's submission commands, first on a workflow manager's PATH: ``sbatch``, ``flux`` or ``qsub``.

The commands, and a Python package for Flux's bindings, add the options that a wrapped job needs (no kill on
node loss, requeue, spare nodes, a token), and make sure that every submission happens exactly once.
"""
