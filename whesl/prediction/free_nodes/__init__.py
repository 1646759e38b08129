"""Free nodes of a cluster: the least number in each of the next 24 hours, with quantiles.

A job history in, a forecast out. The queue that is known now is rolled forward under FCFS with EASY
backfilling, many times, with run times drawn from what each user's jobs did; boosted trees correct what comes
out of it. Needs the extra ``predict``; with numba (extra ``lab``) it takes seconds where it else takes hours.
"""
