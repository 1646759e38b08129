"""What stands first on a workflow manager's PATH: ``sbatch`` or ``flux``, and Flux's Python bindings.

It adds to a wrapped job what the manager does not write (no kill on node loss, no requeue, spare nodes, a
token), and sees to it that every submission happens exactly once.
"""
