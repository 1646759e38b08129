"""What the isolator is told; apart from the rest, so that ``whesl exec`` loads little."""

from __future__ import annotations

import msgspec

from whesl.esl.spec import Spec
from whesl.model.workflow import Task


class Setup(msgspec.Struct, frozen=True, kw_only=True):
    """What the isolator is told once and what never changes. Times in seconds.

    ``claim`` is new for each start of the job's script by the resource manager. ``nodes`` are the
    allocation's, in its order; ``active`` of them are used, the others are spares.
    """

    task: Task
    workflow: str
    spec: Spec | None = None
    observe: bool = False
    coordinator: bool = True
    claim: str = ""
    rjms: str = "host"
    job_id: str = ""
    nodes: tuple[str, ...] = ()
    active: int | None = None
    own_node: str = ""
    use_own_node: bool = True
    salt: str = ""
    welcome_wait: float = 10.0
    coordinator_wait: float = 120.0
    term_grace: float = 25.0
