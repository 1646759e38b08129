"""The pure scheduler: queue, FCFS, EASY backfilling, fitting, eligibility, life cycles.

``state_machine`` takes events with their times and returns actions, which the embedded server carries out.
"""
