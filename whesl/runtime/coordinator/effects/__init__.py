"""The coordinator's calls of schedulers, workflow managers and handlers, in worker threads."""
