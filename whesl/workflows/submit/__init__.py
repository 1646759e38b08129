"""The ``sbatch`` that stands first on a workflow manager's PATH.

It adds to a wrapped job what the manager does not write (slurm-facts: no kill on node loss, no requeue,
spare nodes, a token in the comment), and sees to it that every submission happens exactly once.
"""
