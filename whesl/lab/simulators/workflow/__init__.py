"""Workflows (DAGs) on nodes that fail: RANK_HYBD, FLAW and FIFO."""
