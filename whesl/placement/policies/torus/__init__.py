"""Placement on a three-dimensional torus: jobs get free rectangular partitions, with wrap-around.

Sources: "Fault-aware job scheduling for BlueGene/L systems", and the FCFS, backfilling and migration of
Krevat et al. on which that article builds. ``boxes`` has the geometry; ``finder`` lists the free partitions
of a size and finds the largest; ``choice`` selects a partition (MFP heuristic, balancing, tie-breaking);
``scheduling_pass`` runs one scheduling pass.
"""
