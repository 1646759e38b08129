"""The evaluation of several clusters, run again."""
