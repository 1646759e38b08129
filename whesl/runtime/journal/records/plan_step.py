"""A step of a recovery's plan: made when the exception is raised, and written down with it."""

from __future__ import annotations

from typing import Any

import msgspec

from whesl.model.evidence import Raised


class PlanStep(msgspec.Struct, frozen=True, kw_only=True):
    """One step. ``id`` is the same however often it is carried out.

    ``handler`` is the custom handler that carries it out (an executable's path or an entry point's name).
    ``suspect``, ``because`` and ``level`` (``suspect_node.Suspect``) are filled in for NODE steps.
    ``raised`` is the exception's own record.
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
