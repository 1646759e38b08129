"""Data between the cluster and the cloud: one port, a directory, rsync over ssh, and S3."""
