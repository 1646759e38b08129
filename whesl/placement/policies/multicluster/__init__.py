"""Placement on several clusters, some of which suit each job: FCFS, FCFS-LB, EASY, CONS, LS.

Source: "The importance of complete data sets for job scheduling simulations", section 5. A job runs on one
cluster, on any of its processors. Of several clusters with the same earliest start the fastest is taken, of
equally fast ones the largest. Run times are known exactly.

``fcfs_easy`` has the policies without a schedule (FCFS, FCFS-LB, EASY); ``profile`` keeps the free processors
over time; ``conservative`` gives each waiting job a start (CONS); ``schedule_local_search`` improves the
starts (LS).
"""
