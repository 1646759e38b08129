"""WMS steps of managers that create no workspaces for their tasks."""

from __future__ import annotations

from whesl.language.spec import Operation, RecoveryStep, ResourceKind
from whesl.model.configuration_changes import Configuration
from whesl.model.errors import RefusedError


def apply(who_knows: str, step: RecoveryStep, configuration: Configuration) -> Configuration:
    """Carry out a WMS step; FILESYSTEM.REPLACE changes nothing: no workspaces are still to be created.

    Args:
        who_knows: the manager and the verb, with which a message begins: "Cylc knows".
        step: the recovery step.
        configuration: the task's configuration, which stays unchanged.

    Raises RefusedError for any other step.
    """
    if step.resource != ResourceKind.FILESYSTEM or step.operation != Operation.REPLACE:
        raise RefusedError(f"{who_knows} no WMS step {step.resource}.{step.operation}")
    return configuration
