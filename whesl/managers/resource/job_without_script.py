"""The port to a job that goes on after the loss of the node on which its script ran."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable


@runtime_checkable
class OutlivesScript(Protocol):
    """Optional, on an allocation whose job may go on without the node on which its script ran."""

    def script_variables(self) -> dict[str, str]:
        """Return the resource manager's variables of the job's script, for ``script_environment``."""

    def script_environment(self, variables: Mapping[str, str]) -> dict[str, str]:
        """Return a step's environment as the script would have it on this node, from its ``variables``."""

    def end_job(self, status: int) -> None:
        """End the job with a shell's exit status, as its script would. Raises the port's errors."""
