"""The isolator's setup, and the values derived from it alone.

A module of its own, so that ``whesl exec`` loads little.
"""

from __future__ import annotations

import msgspec

from whesl.language.spec import ExceptionSpec, ResourceKind, Spec
from whesl.model.allocation_nodes import NodeSet
from whesl.model.configuration_changes import Configuration
from whesl.model.outcomes import RequeueSaid
from whesl.model.workflow import Task
from whesl.runtime.isolator.core import attempt_token_prefix, node_division


class Setup(msgspec.Struct, frozen=True, kw_only=True):
    """The isolator's fixed input. Times in seconds.

    ``claim`` is new for each start of the job's script by the resource manager. ``nodes`` are the
    allocation's, in its order; ``active`` of them are used, the others are spares. ``leader`` distinguishes
    the job from another job with the same id. ``requeue``: the user's choice on requeueing the job; without a
    choice, the resource manager requeues a lost job by itself until the coordinator knows the job.
    ``cluster``: the variables that name the job's cluster. ``kept``: the job outlives a lost node since rules
    may act on the loss, and not because the user asked for it. ``moves``: another node may take the task over
    after the loss of ``own_node``. ``restarts``: how often the job was requeued.
    ``earlier``: number of attempts in earlier runs of the job that left a result; the attempts of an
    interrupted run are in the journal, which is continued. ``sizes``: the fewest nodes on which the job may
    run again, and the most, (0, 0) for as many as it had.
    """

    task: Task
    workflow: str
    spec: Spec | None = None
    observe: bool = False
    coordinator: bool = True
    claim: str = ""
    rjms: str = "host"
    job_id: str = ""
    leader: str = ""
    nodes: tuple[str, ...] = ()
    active: int | None = None
    own_node: str = ""
    use_own_node: bool = True
    requeue: RequeueSaid = RequeueSaid.UNKNOWN
    kept: bool = False
    sizes: tuple[int, int] = (0, 0)
    moves: bool = False
    account: str = ""  # the directory of the allocation's account of nodes; "" for a single node
    taken: tuple[str, ...] = ()  # nodes that other tasks used when this task began
    components: tuple[tuple[str, ...], ...] = ()  # nodes of each component of a heterogeneous job
    cluster: dict[str, str] = {}
    restarts: int = 0
    salt: str = ""
    earlier: int = 0
    welcome_wait: float = 10.0
    coordinator_wait: float = 120.0
    term_grace: float = 25.0

    def exceptions(self) -> tuple[ExceptionSpec, ...]:
        """Return the exceptions that the rules have for the task, in their order."""
        return self.spec.exceptions_of(self.task) if self.spec is not None else ()

    def watches_nodes(self) -> bool:
        """Whether the state of a node raises an exception of the rules."""
        return any(one.of_nodes for rule in self.exceptions() for one in rule.detections)

    def changes_nodes(self) -> bool:
        """Whether a recovery of the rules changes the task's nodes."""
        return any(step.resource == ResourceKind.NODE for rule in self.exceptions() for step in rule.steps)

    def claims(self, active: tuple[str, ...]) -> bool:
        """Whether the task has to claim its nodes in the account, since it uses a part of the allocation."""
        most, _ = node_division.usual(self.nodes, self.own_node, use_own=self.use_own_node)
        part = self.active is not None and self.active < len(self.nodes)
        return bool(self.account) and (part or len(active) < most)

    def unwatched(self) -> str:
        """Return the warning for a task that no exception of the rules names; '' where there is one."""
        if self.spec is None or self.exceptions():
            return ""
        jobs = ", ".join(dict.fromkeys(job for item in self.spec.exceptions for job in item.jobs)) or "none"
        return f"no exception of the rules is for a job called {self.task.name}, only for: {jobs}"


class AttemptPlan(msgspec.Struct, frozen=True, kw_only=True):
    """The attempt to start, with its configuration and node set.

    ``lingering``: nodes on which a step of an earlier attempt may never end.
    """

    attempt: int
    token: str
    configuration: Configuration
    nodes: NodeSet
    lingering: tuple[str, ...] = ()


def token_prefix(setup: Setup) -> str:
    """Return the common prefix of the tokens of a task's attempts, by which the task's agents fence."""
    return attempt_token_prefix.token_prefix(setup.salt, setup.task.id)


def token(setup: Setup, attempt: int) -> str:
    """Return an attempt's token, derived from the setup so that no message has to carry it.

    Args:
        setup: the task's setup.
        attempt: the attempt's number, from 1.
    """
    return f"{token_prefix(setup)}{attempt}"


def split(
    setup: Setup,
    *,
    wanted: int | None = None,
    avoid: frozenset[str] = frozenset(),
    taken: frozenset[str] = frozenset(),
) -> NodeSet:
    """Return the nodes of the first attempt under a claim, with the remaining nodes as spares.

    Args:
        setup: the task's setup, with the allocation's nodes.
        wanted: number of nodes in use, where a configuration sets it.
        avoid: suspected nodes.
        taken: nodes that other tasks use, besides those that the setup names.
    """
    most, last = node_division.usual(setup.nodes, setup.own_node, use_own=setup.use_own_node)
    last |= taken | set(setup.taken)
    wanted = wanted or setup.active or most
    active, spares = node_division.divided(setup.nodes, wanted, avoid, last, setup.components)
    return NodeSet(active=active, spares=spares, components=setup.components)
