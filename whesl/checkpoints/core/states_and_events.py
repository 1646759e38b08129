"""What the protocol of prioritized checkpoints knows: states, events and commands.

States are those of the dissertation, Figure 2.9. The round that lets all ranks stop at one and the same time
step is WHESL's own; ``docs/design/checkpoints.md`` says why it is needed.
"""

from __future__ import annotations

import math
from enum import Enum

import msgspec


class NodePhase(Enum):
    """The phase of a node."""

    NORMAL = "normal"
    VULNERABLE = "vulnerable"  # a failure is predicted, and nothing has begun
    MIGRATING = "migrating"
    REQUESTED = "requested"  # asked to stop at a time step
    WAITING = "waiting"  # the node's ranks wait for their turn
    COMMITTING = "committing"
    COMMITTED = "committed"  # the node's parts are durable
    LOST = "lost"


class EpochPhase(Enum):
    """The phase of the job's checkpoint."""

    AGREEING = "agreeing"  # on a time step that no rank has passed
    FIRST = "first"  # vulnerable nodes write, one after the other
    SECOND = "second"  # all other nodes write
    SEALING = "sealing"  # all parts are durable; the manifest is written


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all records."""


class Foretold(Record, frozen=True, kw_only=True):
    """A predicted failure, as it is written down: what the next coordinator has to know of a node.

    Attributes:
        fails_at: when, in seconds.
        covered: whether a whole checkpoint was taken since that was predicted.
        move: as of the prediction.
    """

    fails_at: float
    covered: bool = False
    move: float | None = None


class Known(Record, frozen=True, kw_only=True):
    """What the coordinator has acknowledged, and the agents cannot tell the next one.

    Attributes:
        foretold: predicted failures by node.
        asked: why a checkpoint was asked for that has not ended yet; empty where none was.
    """

    foretold: dict[str, Foretold] = {}
    asked: str = ""


class Settings(Record, frozen=True, kw_only=True):
    """How a job's checkpoints are taken.

    Attributes:
        migration: seconds that a migration takes; ``inf`` where the site has none.
        arrival: seconds that ranks have to reach the step, and that agents have to answer.
        commit: seconds that a node has to write its parts.
        writers: nodes that write at once in the second phase; 0 for all.
        priority: whether vulnerable nodes write first; else all write at once, as safeguard checkpoints do.
        margin: time steps between the furthest rank and the step that is proposed first.
    """

    migration: float = math.inf
    arrival: float = 60.0
    commit: float = 3600.0
    writers: int = 0
    priority: bool = True
    margin: int = 1  # a step may take seconds, and another round takes milliseconds


class Node(Record, frozen=True, kw_only=True):
    """One node of the job.

    Attributes:
        ranks: how many it runs.
        of: how many the whole program has, as its ranks say; 0 while none has registered.
        ended: how many have ended, and left no part of the checkpoint that is being taken.
        phase: what it does.
        fails_at: when its failure is predicted, in seconds; ``inf`` where none is.
        covered: whether a whole checkpoint was taken since that was predicted.
        move: as of the prediction.
        answered: the round of the agreement that it answered last; -1 for none.
        until: when it is given up: the end of a migration, or of the time to answer or to write.
        together: whether its ranks write a file of all ranks, so that no node can write before another.
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
        number: rises with each checkpoint.
        phase: what it is at.
        round: of the agreement, from 0: which steps have the ranks reached?
        target: the time step at which all stop; 0 while it is not known.
        top: the furthest step that an agent told in this round.
        unanswered: agents that have not answered this round.
        reason: why it was begun.
    """

    number: int
    phase: EpochPhase = EpochPhase.AGREEING
    round: int = 0
    target: int = 0
    top: int = 0
    unanswered: int = 0
    reason: str = ""


class State(Record, frozen=True, kw_only=True):
    """All that the coordinator knows.

    Attributes:
        settings: how checkpoints are taken.
        nodes: by name.
        epoch: the checkpoint that is being taken; None between two.
        last: the number of the last one that was begun.
        resumable: the number of a checkpoint that an earlier coordinator may have left under way; 0 for none.
        foretold: predicted failures of nodes that have not registered with this coordinator yet.
        asked: why a checkpoint was asked for that has not ended yet; empty where none was.
        again: when the checkpoint that was given up last is tried again, in seconds; ``inf`` for never.
        failures: how many checkpoints in a row were given up.
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
    """A node's agent has registered, at the start or after the coordinator's.

    Attributes:
        node: its name.
        ranks: how many it runs.
        of: how many the whole program has, as its ranks say; 0 for unknown.
        ended: how many have ended, and left no part of that checkpoint.
        epoch: the checkpoint that its ranks are in; 0 for none.
        target: the step at which they stop; 0 while it is not known.
        committed: whether all its parts of that checkpoint are durable.
        together: whether its ranks write a file of all ranks.
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
    """A node's failure is predicted ``lead`` seconds ahead; this replaces what was predicted before.

    ``move``: seconds that a move to a spare by a checkpoint and a restart took the last time, where that is
    what follows the checkpoint; 0 where none was measured; None where the node is not moved.
    """

    node: str
    lead: float
    confidence: float = 1.0
    evidence: str = ""
    move: float | None = None


class Withdrawn(Record, frozen=True, kw_only=True, tag="withdrawn"):
    """A node is not expected to fail any longer."""

    node: str


class Requested(Record, frozen=True, kw_only=True, tag="requested"):
    """A checkpoint of all nodes is requested: by a user, a rule, or the interval."""

    reason: str = "requested"


class Answered(Record, frozen=True, kw_only=True, tag="answered"):
    """An agent has answered a round: the furthest step of its ranks, and whether one has passed the
    target."""

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
    """A node cannot write its parts."""

    node: str
    epoch: int
    why: str


class Sealed(Record, frozen=True, kw_only=True, tag="sealed"):
    """The manifest is durable, or could not be written (``why``)."""

    epoch: int
    why: str = ""


class Lost(Record, frozen=True, kw_only=True, tag="lost"):
    """A node has died, or left the job."""

    node: str
    why: str = "lost"


class Migrated(Record, frozen=True, kw_only=True, tag="migrated"):
    """A node's processes have moved; ``why`` says why they have not."""

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
    """Agents: which steps have your ranks reached? With a target: put it before them first.

    ``arrival`` is the time in seconds in which every rank has to reach it.
    """

    nodes: tuple[str, ...]
    epoch: int
    round: int
    target: int
    arrival: float


class Grant(Record, frozen=True, kw_only=True, tag="grant"):
    """Agents: your ranks may write.

    A rank that shows no sign of writing for ``arrival`` seconds, or has not committed after ``commit``
    seconds, ends the checkpoint.
    """

    nodes: tuple[str, ...]
    epoch: int
    target: int
    arrival: float
    commit: float


class Release(Record, frozen=True, kw_only=True, tag="release"):
    """Agents: the checkpoint is over, whole or not; no rank waits any longer."""

    nodes: tuple[str, ...]
    epoch: int
    complete: bool
    why: str


class Seal(Record, frozen=True, kw_only=True, tag="seal"):
    """Write the manifest: all parts of these nodes are durable. ``of``: how many parts these have to be."""

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
    """Write a sentence into log and journal; ``refused`` answers an event that cannot be carried out."""

    text: str
    refused: bool = False


Command = Ask | Grant | Release | Seal | Migrate | AbortMigration | Told
