"""The evaluation of plans over a cluster and a cloud: other schedulers, job logs, a thousand cases each."""
