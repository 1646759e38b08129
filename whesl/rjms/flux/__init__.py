"""Flux behind the port: ``FluxScheduler`` (outside) and ``FluxAllocation`` (inside a job or instance).

Loaded when they are asked for: the far ends of the bridge are programs of this package, and start without
what these need.
"""

from __future__ import annotations

TYPE_CHECKING = False  # typing is part of what the programs start without
if TYPE_CHECKING:
    from whesl.rjms.flux.allocation import FluxAllocation
    from whesl.rjms.flux.scheduler import FluxScheduler

__all__ = ["FluxAllocation", "FluxScheduler"]


def __getattr__(name: str) -> object:
    """Load one of the two adapters (PEP 562)."""
    if name == "FluxAllocation":
        from whesl.rjms.flux.allocation import FluxAllocation

        return FluxAllocation
    if name == "FluxScheduler":
        from whesl.rjms.flux.scheduler import FluxScheduler

        return FluxScheduler
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
