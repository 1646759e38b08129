"""The evaluation of prioritized checkpoints, run again."""
