"""Placement on a three-dimensional torus: jobs get free rectangular partitions, with wrap-around.

Source: "Fault-aware job scheduling for BlueGene/L systems", with the FCFS, backfilling and migration of
Krevat et al. that it builds on. ``boxes`` is the geometry, ``finder`` lists the free partitions of a size
and finds the largest, ``choice`` weighs them (MFP heuristic, balancing, tie-breaking), and
``scheduling_pass`` makes one scheduling pass of them.
"""
