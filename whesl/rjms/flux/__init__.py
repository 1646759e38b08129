"""Flux behind the port: ``FluxScheduler`` (outside) and ``FluxAllocation`` (inside a job or instance)."""

from whesl.rjms.flux.allocation import FluxAllocation
from whesl.rjms.flux.scheduler import FluxScheduler

__all__ = ["FluxAllocation", "FluxScheduler"]
