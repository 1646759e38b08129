"""Flux behind the port: ``FluxScheduler`` (outside) and ``FluxAllocation`` (inside a job or instance)."""

from whesl.rjms.flux.allocation import FluxAllocation

__all__ = ["FluxAllocation"]
