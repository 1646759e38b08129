"""What the coordinator does in the world: calls of schedulers, managers and handlers, in worker threads."""
