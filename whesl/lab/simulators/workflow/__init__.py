"""Simulation of workflows (DAGs) on nodes that fail, under RANK_HYBD, FLAW and FIFO."""
