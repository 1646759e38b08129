"""What the isolator is told, and what follows from that alone.

Apart from the rest, so that ``whesl exec`` loads little.
"""

from __future__ import annotations

import msgspec

from whesl.language.spec import ExceptionSpec, Spec
from whesl.model.allocation_nodes import NodeSet
from whesl.model.configuration_changes import Configuration
from whesl.model.outcomes import RequeueSaid
from whesl.model.workflow import Task
from whesl.runtime.isolator.core import attempt_token_prefix, node_division


class Setup(msgspec.Struct, frozen=True, kw_only=True):
    """What the isolator is told once and what never changes. Times in seconds.

    ``claim`` is new for each start of the job's script by the resource manager. ``nodes`` are the
    allocation's, in its order; ``active`` of them are used, the others are spares. ``leader`` tells the job
    from another with its id. ``requeue``: what its user has said of running the job again; where that is
    nothing, the resource manager runs it again by itself when it loses it, until the coordinator knows of it.
    ``cluster``: the variables that say which cluster the job runs on. ``kept``: the job outlives a lost node
    since rules may act on it, and not by its user's wish. ``restarts``: how often the job ran again.
    ``earlier``: attempts of earlier runs of the same job that ended with a result of their own; those of one
    that was cut short are in the journal, which goes on.
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
    account: str = ""  # the directory of the allocation's account of nodes; "" where a node is all there is
    taken: tuple[str, ...] = ()  # nodes that other tasks used when this one began
    heterogeneous: bool = False  # whether the job has components whose nodes cannot replace each other
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

    def claims(self, active: tuple[str, ...]) -> bool:
        """Whether the account has to say which nodes a task uses: a part, as its user says or as it is."""
        most, _ = node_division.usual(self.nodes, self.own_node, use_own=self.use_own_node)
        part = self.active is not None and self.active < len(self.nodes)
        return bool(self.account) and (part or len(active) < most)

    def unwatched(self) -> str:
        """Return the warning for a task that no exception names: one of the names may be wrong."""
        if self.spec is None or self.exceptions():
            return ""
        jobs = ", ".join(dict.fromkeys(job for item in self.spec.exceptions for job in item.jobs)) or "none"
        return f"no exception of the rules is for a job called {self.task.name}, only for: {jobs}"


class AttemptPlan(msgspec.Struct, frozen=True, kw_only=True):
    """Which attempt is to be started, and how: with a configuration, on a node set.

    ``lingering``: nodes on which a step of an earlier attempt may never end.
    """

    attempt: int
    token: str
    configuration: Configuration
    nodes: NodeSet
    lingering: tuple[str, ...] = ()


def token_prefix(setup: Setup) -> str:
    """Return what the tokens of all attempts of a task begin with: what its agents fence by."""
    return attempt_token_prefix.token_prefix(setup.salt, setup.task.id)


def token(setup: Setup, attempt: int) -> str:
    """Return an attempt's token; it follows from the setup, so no message has to carry it."""
    return f"{token_prefix(setup)}{attempt}"


def split(
    setup: Setup,
    *,
    wanted: int | None = None,
    avoid: frozenset[str] = frozenset(),
    taken: frozenset[str] = frozenset(),
) -> NodeSet:
    """Return which nodes the first attempt under a claim uses, and the rest as spares.

    Args:
        setup: names the allocation's nodes.
        wanted: how many are used, where a configuration says so.
        avoid: suspected nodes.
        taken: nodes that other tasks use, besides those of which the setup says so.
    """
    most, last = node_division.usual(setup.nodes, setup.own_node, use_own=setup.use_own_node)
    return choose(setup.nodes, wanted or setup.active or most, avoid, last | taken | set(setup.taken))


def choose(
    nodes: tuple[str, ...], wanted: int, avoid: frozenset[str], last: frozenset[str] = frozenset()
) -> NodeSet:
    """Return the first ``wanted`` nodes in use and the rest as spares; the arguments are ``divided``'s."""
    active, spares = node_division.divided(nodes, wanted, avoid, last)
    return NodeSet(active=active, spares=spares)
