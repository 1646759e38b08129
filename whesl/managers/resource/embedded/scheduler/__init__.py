"""The pure scheduler: queue, FCFS, EASY backfilling, fitting, eligibility, life cycles.

``core`` takes events and returns actions on an injected clock. The embedded resource manager is its shell.
"""
