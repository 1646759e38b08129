"""The evaluation of a desktop grid, run again."""
