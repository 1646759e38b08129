"""The evaluation of a torus, run again."""
