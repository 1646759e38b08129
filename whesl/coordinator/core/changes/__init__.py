"""What each record of the coordinator's journal changes in its state. Pure; ``journalled.apply`` uses it."""

from whesl.coordinator.core.changes.tasks import change

__all__ = ["change"]
