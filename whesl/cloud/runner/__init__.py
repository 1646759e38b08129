"""The runner of a plan: executors on a cluster and in a cloud, their tasks and data, under one owner."""
