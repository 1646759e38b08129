"""Workflows (DAGs) on nodes that fail: RANK_HYBD, FLAW and FIFO (document "Failure-aware workflow scheduling")."""
