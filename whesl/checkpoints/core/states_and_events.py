"""States, events and commands of the protocol of prioritized checkpoints.

The states come from the dissertation, Figure 2.9. The rounds by which all ranks agree on one time step are
WHESL's own; ``docs/design/checkpoints.md`` gives the reason.
"""

from __future__ import annotations

import math
from enum import Enum

import msgspec


class NodePhase(Enum):
    """The phase of a node."""

    NORMAL = "normal"
    VULNERABLE = "vulnerable"  # a failure is predicted, and no migration or checkpoint has begun
    MIGRATING = "migrating"
    REQUESTED = "requested"  # the node's ranks are asked to stop at a time step
    WAITING = "waiting"  # the node's ranks hold until they may write
    COMMITTING = "committing"
    COMMITTED = "committed"  # the node's parts are durable
    LOST = "lost"


class EpochPhase(Enum):
    """The phase of the job's checkpoint."""

    AGREEING = "agreeing"  # the ranks agree on a time step that no rank has passed
    FIRST = "first"  # vulnerable nodes write, one after the other
    SECOND = "second"  # all other nodes write
    SEALING = "sealing"  # all parts are durable; the manifest is written


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all records."""


class Foretold(Record, frozen=True, kw_only=True):
    """A stored prediction, from which the next coordinator restores a node's state.

    Attributes:
        fails_at: time of the predicted failure, in seconds.
        covered: whether a whole checkpoint was taken since the prediction.
        move: ``Predicted.move`` of the prediction.
    """

    fails_at: float
    covered: bool = False
    move: float | None = None


class Known(Record, frozen=True, kw_only=True):
    """Acknowledged predictions and requests, which the next coordinator cannot learn from the agents.

    Attributes:
        foretold: predicted failures by node.
        asked: reason of a requested checkpoint that has not ended yet; empty without a request.
    """

    foretold: dict[str, Foretold] = {}
    asked: str = ""


class Settings(Record, frozen=True, kw_only=True):
    """How a job's checkpoints are taken.

    Attributes:
        migration: seconds that a migration takes; ``inf`` where the site has no migration.
        arrival: seconds within which ranks have to reach the step, and agents have to answer.
        commit: seconds within which a node has to write its parts.
        writers: number of nodes that write at once in the second phase; 0 for all.
        priority: whether vulnerable nodes write first; if not, all write at once (safeguard checkpoints).
        margin: number of time steps between the furthest rank and the first proposed step.
    """

    migration: float = math.inf
    arrival: float = 60.0
    commit: float = 3600.0
    writers: int = 0
    priority: bool = True
    margin: int = 1  # small, since a step may take seconds while another round takes milliseconds


class Node(Record, frozen=True, kw_only=True):
    """One node of the job.

    Attributes:
        ranks: number of the node's ranks.
        of: the whole program's number of ranks, as its ranks report it; 0 while no rank has registered.
        ended: number of the node's ended ranks that left no part of the present checkpoint.
        phase: phase of the node.
        fails_at: time of the predicted failure in seconds; ``inf`` without a prediction.
        covered: whether a whole checkpoint was taken since the prediction.
        move: ``Predicted.move`` of the prediction.
        answered: the last round of the agreement that the node has answered; -1 for none.
        until: time limit in seconds of the node's migration, answer or writing.
        together: whether the node's ranks write a shared file, which all nodes write at the same time.
    """

    ranks: int
    of: int = 0
    ended: int = 0
    phase: NodePhase = NodePhase.NORMAL
    fails_at: float = math.inf
    covered: bool = False
    move: float | None = None
    answered: int = -1
    until: float = math.inf
    together: bool = False


class Epoch(Record, frozen=True, kw_only=True):
    """The checkpoint that is being taken.

    Attributes:
        number: the checkpoint's number, which rises with each checkpoint.
        phase: phase of the checkpoint.
        round: number of the agreement's round.
        target: the time step at which all ranks stop; 0 while it is unknown.
        top: the furthest step that an agent reported in this round.
        unanswered: number of agents that have not answered this round.
        reason: reason for the checkpoint.
    """

    number: int
    phase: EpochPhase = EpochPhase.AGREEING
    round: int = 0
    target: int = 0
    top: int = 0
    unanswered: int = 0
    reason: str = ""


class State(Record, frozen=True, kw_only=True):
    """The whole state of the coordinator.

    Attributes:
        settings: how checkpoints are taken.
        nodes: the nodes, by name.
        epoch: the checkpoint that is being taken; None between two checkpoints.
        last: number of the checkpoint that began last.
        resumable: number of a checkpoint that an earlier coordinator may have left unfinished; 0 for none.
        foretold: predicted failures of nodes that have not registered with this coordinator yet.
        asked: reason of a requested checkpoint that has not ended yet; empty without a request.
        again: time in seconds at which a failed checkpoint is tried again; ``inf`` for never.
        failures: number of successive failed checkpoints.
    """

    settings: Settings
    nodes: dict[str, Node] = {}
    epoch: Epoch | None = None
    last: int = 0
    resumable: int = 0
    foretold: dict[str, Foretold] = {}
    asked: str = ""
    again: float = math.inf
    failures: int = 0


# Events ---------------------------------------------------------------------------------------------------


class Joined(Record, frozen=True, kw_only=True, tag="joined"):
    """A node's agent has registered, at its own start or after a restart of the coordinator.

    Attributes:
        node: the node's name.
        ranks: number of the node's ranks.
        of: the whole program's number of ranks, as its ranks report it; 0 for unknown.
        ended: number of the node's ended ranks that left no part of the checkpoint ``epoch``.
        epoch: number of the checkpoint that the node's ranks are in; 0 for none.
        target: the step at which the ranks stop; 0 while it is unknown.
        committed: whether all of the node's parts of this checkpoint are durable.
        together: whether the node's ranks write a shared file.
    """

    node: str
    ranks: int
    of: int = 0
    ended: int = 0
    epoch: int = 0
    target: int = 0
    committed: bool = False
    together: bool = False


class Predicted(Record, frozen=True, kw_only=True, tag="predicted"):
    """A node's failure is predicted ``lead`` seconds ahead, which replaces an earlier prediction.

    ``move``: seconds that the last move of a node to a spare took (checkpoint and restart), if such a move
    follows the checkpoint; 0 without a measurement; None where the node is not moved.
    """

    node: str
    lead: float
    confidence: float = 1.0
    evidence: str = ""
    move: float | None = None


class Withdrawn(Record, frozen=True, kw_only=True, tag="withdrawn"):
    """A node's prediction is withdrawn."""

    node: str


class Requested(Record, frozen=True, kw_only=True, tag="requested"):
    """A checkpoint of all nodes is requested: by a user, a rule, or the interval."""

    reason: str = "requested"


class Answered(Record, frozen=True, kw_only=True, tag="answered"):
    """An agent has answered a round.

    ``top``: the furthest step of its ranks. ``passed``: whether a rank has passed the target.
    """

    node: str
    epoch: int
    round: int
    top: int
    passed: bool = False


class Committed(Record, frozen=True, kw_only=True, tag="committed"):
    """All parts of a node are durable."""

    node: str
    epoch: int


class CommitFailed(Record, frozen=True, kw_only=True, tag="commit-failed"):
    """A node cannot write its parts; ``why`` gives the reason."""

    node: str
    epoch: int
    why: str


class Sealed(Record, frozen=True, kw_only=True, tag="sealed"):
    """The manifest is durable, or could not be written for the reason ``why``."""

    epoch: int
    why: str = ""


class Lost(Record, frozen=True, kw_only=True, tag="lost"):
    """A node has died, or left the job."""

    node: str
    why: str = "lost"


class Migrated(Record, frozen=True, kw_only=True, tag="migrated"):
    """A node's processes have moved, or could not move for the reason ``why``."""

    node: str
    why: str = ""


class Tick(Record, frozen=True, kw_only=True, tag="tick"):
    """Time has passed."""


Event = (
    Joined
    | Predicted
    | Withdrawn
    | Requested
    | Answered
    | Committed
    | CommitFailed
    | Sealed
    | Lost
    | Migrated
    | Tick
)

# Commands -------------------------------------------------------------------------------------------------


class Ask(Record, frozen=True, kw_only=True, tag="ask"):
    """Ask agents for the steps that their ranks have reached, after announcing ``target``, if known.

    ``arrival``: seconds within which every rank has to reach the target.
    """

    nodes: tuple[str, ...]
    epoch: int
    round: int
    target: int
    arrival: float


class Grant(Record, frozen=True, kw_only=True, tag="grant"):
    """Allow the ranks of some nodes to write.

    The checkpoint fails if a rank shows no sign of writing for ``arrival`` seconds, or has not committed
    after ``commit`` seconds.
    """

    nodes: tuple[str, ...]
    epoch: int
    target: int
    arrival: float
    commit: float


class Release(Record, frozen=True, kw_only=True, tag="release"):
    """Tell agents that the checkpoint is over, whole or not, so that no rank waits any more."""

    nodes: tuple[str, ...]
    epoch: int
    complete: bool
    why: str


class Seal(Record, frozen=True, kw_only=True, tag="seal"):
    """Write the manifest with the durable parts of these nodes. ``of``: the necessary number of parts."""

    epoch: int
    nodes: tuple[str, ...]
    of: int
    reason: str


class Migrate(Record, frozen=True, kw_only=True, tag="migrate"):
    """Move a node's processes to a spare."""

    node: str


class AbortMigration(Record, frozen=True, kw_only=True, tag="abort-migration"):
    """Stop moving a node's processes."""

    node: str
    why: str


class Told(Record, frozen=True, kw_only=True, tag="told"):
    """Write a sentence to the log; ``refused``: the sentence says why an event cannot be carried out."""

    text: str
    refused: bool = False


Command = Ask | Grant | Release | Seal | Migrate | AbortMigration | Told
