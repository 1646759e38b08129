"""What isolator, responder and agents say to each other, and the file by which agents find them."""

from __future__ import annotations

import msgspec

from whesl.runtime.wire.keys import LinkKeys


class ToAgent(msgspec.Struct, frozen=True, kw_only=True):
    """Base of what an agent is told."""


class BeatAnswer(ToAgent, frozen=True, kw_only=True, tag="beat-answer"):
    """The numbered heartbeat was heard: the agent's lease now runs from when it sent that one."""

    number: int


class BeatRefused(ToAgent, frozen=True, kw_only=True, tag="beat-refused"):
    """The lease counts as over: end all of the task's processes, then tell that (``Beat.ended``)."""

    number: int


class LeaseEndNoted(ToAgent, frozen=True, kw_only=True, tag="lease-end-noted"):
    """It is known that the agent has ended processes because of its lease."""

    number: int


class Kill(ToAgent, frozen=True, kw_only=True, tag="kill"):
    """Kill every process of an attempt on the node, and answer; ``number`` tells repeated requests apart.

    ``steps``: those of the resource manager that are known to be the attempt's.
    """

    token: str
    number: int = 0
    steps: tuple[str, ...] = ()


class ReadStacks(ToAgent, frozen=True, kw_only=True, tag="read-stacks"):
    """Read the stacks of an attempt's processes on the node."""

    token: str


class FindProgram(ToAgent, frozen=True, kw_only=True, tag="find-program"):
    """Answer when a process of an attempt's program is on the node."""

    token: str


class SignalProcesses(ToAgent, frozen=True, kw_only=True, tag="signal"):
    """Send a signal to those of an attempt's processes on the node that handle it.

    ``version`` of the configuration that it goes with: it is held until one of them does; 0: now or never.
    """

    token: str
    signum: int
    version: int = 0


class Leave(ToAgent, frozen=True, kw_only=True, tag="leave"):
    """The task is over."""


class FromAgent(msgspec.Struct, frozen=True, kw_only=True):
    """Base of what an agent says."""


class Beat(FromAgent, frozen=True, kw_only=True, tag="beat"):
    """Alive. To the responder: extend the lease; ``ended``: nothing of the task runs since it refused that.

    To the isolator: the connection is there (again). ``held``: the agent has been answered, so that it ends
    the task's processes where it is answered no more. One that does not say so is not counted on.
    """

    number: int
    ended: bool = False
    held: bool = False


class LeaseEnded(FromAgent, frozen=True, kw_only=True, tag="lease-ended"):
    """The lease was over, and the agent has killed ``count`` of the task's processes on its node.

    ``seconds``: for how long nobody on the isolator's node had answered. ``number``: of this end.
    ``attempts``: whose processes those were, as far as they told.
    """

    number: int
    seconds: float
    count: int
    attempts: tuple[int, ...] = ()


class Killed(FromAgent, frozen=True, kw_only=True, tag="killed"):
    """No process of the attempt is left on the node, or ``left`` of them could not be killed.

    ``strange``: steps of the job there of which nothing tells whose they are.
    """

    token: str
    number: int = 0
    count: int
    left: int = 0
    strange: tuple[str, ...] = ()


class Stacks(FromAgent, frozen=True, kw_only=True, tag="stacks"):
    """Stacks of an attempt's processes on the node, as text; which of them cannot run, if any."""

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
    """A local process, of a step with agents or the responder; ``started`` is in clock ticks since boot."""

    pid: int
    started: int


class LinkFile(msgspec.Struct, frozen=True, kw_only=True):
    """Where the isolator listens, with which keys, and what its agents fence by.

    ``hosts`` are names and addresses of the isolator's node; an agent uses the first that answers.
    ``lease_port`` is the responder's, and ``responder`` that process, with its descriptor of the lease table.
    ``carriers`` are the steps that run the agents: when one ends, its agents go although their nodes live.
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


class ResponderSetup(msgspec.Struct, frozen=True, kw_only=True):
    """What a responder is told; ``listening`` and ``table`` are descriptors that it inherits."""

    port: int
    listening: int
    table: int
    nodes: tuple[str, ...]
    keys: LinkKeys
