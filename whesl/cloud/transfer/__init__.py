"""Transfers data between the cluster and the cloud: one port for a directory, rsync over ssh, and S3."""
