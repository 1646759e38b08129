"""What a registration with the coordinator says; the message, its record and the task's entry extend it."""

from __future__ import annotations

from typing import Any

import msgspec

from whesl.model.outcomes import RequeueSaid
from whesl.model.states import TaskState


class Registration(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What an isolator says of its task, its job and its rules when it registers with the coordinator.

    ``claim`` (job id and restart count) is new for each start of the job's script by the resource manager,
    ``run`` the prefix of the task's tokens. ``cluster`` has the variables that name the job's cluster
    (``whesl.managers.resource.cluster_environment``). ``requeue`` is the user's word on requeueing the job;
    ``kept``: the job outlives a lost node, so that rules can act on the loss; ``moves``: another node may
    take the task over after the loss of the isolator's own, which is the first of ``nodes``. ``sizes``: the
    fewest nodes on which the job may run again, and the most, (0, 0) for as many as it had.
    """

    workflow: str
    step: str
    instance: str = ""
    workspace: str = ""
    rjms: str = ""
    job_id: str = ""
    claim: str = ""
    run: str = ""
    nodes: tuple[str, ...] = ()
    attempt: int = 0
    state: TaskState = TaskState.REGISTERED
    cluster: dict[str, str] = {}
    requeue: RequeueSaid = RequeueSaid.UNKNOWN
    kept: bool = False
    sizes: tuple[int, int] = (0, 0)
    moves: bool = False

    def registration(self) -> dict[str, Any]:
        """Return these fields, without those of a record that has more."""
        return {name: getattr(self, name) for name in Registration.__struct_fields__}
