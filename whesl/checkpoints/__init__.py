"""Prioritized checkpointing (p-ckpt): the node about to fail writes its checkpoint first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from whesl.checkpoints.client import Client as Client
    from whesl.checkpoints.client import CommitError as CommitError
    from whesl.checkpoints.client import DamagedError as DamagedError
    from whesl.checkpoints.client import OtherRanksError as OtherRanksError

__all__ = ["Client", "CommitError", "DamagedError", "OtherRanksError"]


def __getattr__(name: str) -> Any:
    """Import the client when it is asked for: other parts of the room need none of it."""
    if name in __all__:
        from whesl.checkpoints import client

        return getattr(client, name)
    raise AttributeError(name)
