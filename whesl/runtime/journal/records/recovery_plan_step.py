"""A step of a recovery's plan, which is made when the exception is raised and recorded with it."""

from __future__ import annotations

from typing import Any

import msgspec

from whesl.model.evidence import Raised


class PlanStep(msgspec.Struct, frozen=True, kw_only=True):
    """One step. Its ``id`` stays the same when the step is repeated.

    ``handler`` is the custom handler that performs the step: an executable's path or an entry point's name.
    NODE steps have ``suspect``, ``because`` and ``level`` (``suspect_node.Suspect``). ``raised`` is the
    record of the exception.
    """

    id: str
    resource: str
    operation: str
    arguments: dict[str, Any] = {}
    handler: str | None = None
    suspect: str = ""
    because: str = ""
    level: int = 0
    raised: Raised

    @property
    def name(self) -> str:
        """The operation as the specification spells it."""
        return f"{self.resource}.{self.operation}"
