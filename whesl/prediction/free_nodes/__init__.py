"""Free nodes of a cluster: the least number in each of the next 24 hours, with quantiles.

The forecast is computed from a job history. The known queue is rolled forward many times under FCFS with EASY
backfilling, with run times drawn from each user's past jobs; boosted trees correct the result. Needs the
extra ``predict``; numba (extra ``lab``) reduces the time from hours to seconds.
"""
