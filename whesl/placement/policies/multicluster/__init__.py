"""Placement on several clusters, of which each job suits some: FCFS, FCFS-LB, EASY, CONS, LS.

Source: "The importance of complete data sets for job scheduling simulations", section 5. A job runs on one
cluster, on any of its processors. Of several clusters with the same earliest start the fastest is taken, then
the one with most processors. Run times are known exactly.

``fcfs_easy`` has the policies that look at the present (FCFS, FCFS-LB, EASY), ``profile`` the free processors
over time, ``conservative`` a start for each waiting job (CONS), ``search`` improves them (LS).
"""
