"""The evaluation of workflows on a cluster and a cloud, run again."""
