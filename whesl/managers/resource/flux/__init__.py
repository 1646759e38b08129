"""Flux behind the port: ``scheduler`` (outside) and ``allocation`` (inside a job or instance)."""
