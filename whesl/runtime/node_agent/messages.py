"""Messages between isolator, responder and agents, and the file by which agents find the other two."""

from __future__ import annotations

import msgspec

from whesl.runtime.wire.keys import LinkKeys


class ToAgent(msgspec.Struct, frozen=True, kw_only=True):
    """Base of messages to an agent."""


class BeatAnswer(ToAgent, frozen=True, kw_only=True, tag="beat-answer"):
    """The numbered heartbeat was heard: the agent's lease now runs from the sending of that heartbeat."""

    number: int


class BeatRefused(ToAgent, frozen=True, kw_only=True, tag="beat-refused"):
    """The lease counts as over: the agent kills the task's processes, then reports it (``Beat.ended``)."""

    number: int


class LeaseEndNoted(ToAgent, frozen=True, kw_only=True, tag="lease-end-noted"):
    """The isolator has received the numbered ``LeaseEnded``."""

    number: int


class Kill(ToAgent, frozen=True, kw_only=True, tag="kill"):
    """Kill every process of an attempt on the node, and answer with the ``number`` of the request.

    ``steps``: the resource manager's steps that are known to be the attempt's.
    """

    token: str
    number: int = 0
    steps: tuple[str, ...] = ()


class ReadStacks(ToAgent, frozen=True, kw_only=True, tag="read-stacks"):
    """Read the stacks of an attempt's processes on the node.

    ``of_ranks``: only tell which ranks run (``Stacks.text``), and which ones a signal has stopped.
    """

    token: str
    of_ranks: bool = False


class FindProgram(ToAgent, frozen=True, kw_only=True, tag="find-program"):
    """Answer when a process of an attempt's program is on the node."""

    token: str


class SignalProcesses(ToAgent, frozen=True, kw_only=True, tag="signal"):
    """Send a signal to those of an attempt's processes on the node that handle it.

    ``version``: of the configuration that the signal announces; the signal is held until a process handles
    it. 0: the signal is sent once.
    """

    token: str
    signum: int
    version: int = 0


class Leave(ToAgent, frozen=True, kw_only=True, tag="leave"):
    """The task is over: the agent has to end."""


class FromAgent(msgspec.Struct, frozen=True, kw_only=True):
    """Base of messages from an agent."""


class Beat(FromAgent, frozen=True, kw_only=True, tag="beat"):
    """A heartbeat. It asks the responder to extend the lease, and tells the isolator of a new connection.

    ``ended``: no process of the task runs since the responder refused to extend the lease. ``held``: a
    heartbeat was answered before, so that the agent kills the task's processes when answers stay away. The
    isolator does not rely on an agent without ``held``.
    """

    number: int
    ended: bool = False
    held: bool = False


class LeaseEnded(FromAgent, frozen=True, kw_only=True, tag="lease-ended"):
    """The lease was over, and the agent has killed ``count`` of the task's processes on its node.

    ``seconds``: time without an answer from the isolator's node. ``number``: of this end of a lease.
    ``attempts``: numbers of the attempts of the killed processes, as far as known.
    """

    number: int
    seconds: float
    count: int
    attempts: tuple[int, ...] = ()


class Killed(FromAgent, frozen=True, kw_only=True, tag="killed"):
    """No process of the attempt is left on the node, or ``left`` of them could not be killed.

    ``strange``: steps of the job on the node with an unknown owner.
    """

    token: str
    number: int = 0
    count: int
    left: int = 0
    strange: tuple[str, ...] = ()


class Stacks(FromAgent, frozen=True, kw_only=True, tag="stacks"):
    """Stacks of an attempt's processes on the node, as text; ``stuck``: the processes that cannot run."""

    token: str
    text: str
    stuck: str = ""


class ProgramFound(FromAgent, frozen=True, kw_only=True, tag="program-found"):
    """A process of the attempt's program is on the node."""

    token: str


TO_AGENT = (
    BeatAnswer,
    BeatRefused,
    LeaseEndNoted,
    Kill,
    ReadStacks,
    FindProgram,
    SignalProcesses,
    Leave,
)
FROM_AGENT = (Beat, LeaseEnded, Killed, Stacks, ProgramFound)


class Carrier(msgspec.Struct, frozen=True, kw_only=True):
    """A local process: of a step with agents, or the responder. ``started``: clock ticks since boot."""

    pid: int
    started: int


class LinkFile(msgspec.Struct, frozen=True, kw_only=True):
    """The isolator's addresses and keys, and the token prefix by which its agents fence.

    ``hosts`` are names and addresses of the isolator's node; an agent uses the first that answers.
    ``lease_port`` is the responder's port, ``responder`` its process, and ``table`` its descriptor of the
    lease table. ``carriers`` are the processes of the agents' steps: when a step ends, its agents end
    although their nodes live. Agents on ``successors`` start another isolator when this one's node is lost.
    """

    hosts: tuple[str, ...]
    port: int
    lease_port: int
    keys: LinkKeys
    claim: str
    prefix: str
    heartbeat: float
    limit: float
    carriers: tuple[Carrier, ...] = ()
    responder: Carrier | None = None
    table: int = -1
    successors: tuple[str, ...] = ()


class ResponderSetup(msgspec.Struct, frozen=True, kw_only=True):
    """The responder's setup; ``listening`` and ``table`` are descriptors that the responder inherits."""

    port: int
    listening: int
    table: int
    nodes: tuple[str, ...]
    keys: LinkKeys
