"""WMS steps of managers whose tasks have no workspaces that are still to come."""

from __future__ import annotations

from whesl.language.spec import Operation, RecoveryStep, ResourceKind
from whesl.model.configuration_changes import Configuration
from whesl.model.errors import RefusedError


def apply(who_knows: str, step: RecoveryStep, configuration: Configuration) -> Configuration:
    """Carry out a WMS step: with no workspaces to come, FILESYSTEM.REPLACE has nothing to do.

    Args:
        who_knows: the manager and the verb, as a message begins: "Cylc knows".
        step: the rules' step.
        configuration: the workflow's, which stays as it is.

    Raises RefusedError for every other step.
    """
    if step.resource != ResourceKind.FILESYSTEM or step.operation != Operation.REPLACE:
        raise RefusedError(f"{who_knows} no WMS step {step.resource}.{step.operation}")
    return configuration
