"""Reproduction of the evaluation of workflows (DAGs) on nodes that fail: RANK_HYBD, FLAW and FIFO."""
