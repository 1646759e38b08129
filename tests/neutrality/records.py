"""What the suite speaks of: features of jobs, cases made of them, ways to wrap, outcomes, differences."""

from __future__ import annotations

from enum import Enum

import msgspec


class Kind(Enum):
    """Where a feature stands in a job."""

    INTERPRETER = "interpreter"
    OPTION = "option"
    BODY = "body"
    END = "end"


class When(Enum):
    """What an act from outside waits for."""

    SEEN = "seen"  # the manager knows the job
    PENDING = "pending"
    RUNNING = "running"
    SUSPENDED = "suspended"
    AGAIN = "again"  # requeued, and waiting
    MARK = "mark"  # the script has made a file
    ENDED = "ended"


class Act(msgspec.Struct, frozen=True, kw_only=True):
    """Something that is done to a job from outside.

    Attributes:
        when: what has to be seen first.
        mark: the file that the script makes, for ``When.MARK``.
        times: how often the job has been requeued at least, for ``When.AGAIN``.
        do: a command; ``{job}``, ``{place}``, ``{host}`` (its batch host) and ``{node}`` (its last node) are
            filled in. The words ``kill-node``, ``start-node`` and ``touch`` are done by the suite itself.
    """

    when: When
    do: tuple[str, ...]
    mark: str = ""
    times: int = 1


class Feature(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that a job may have.

    Attributes:
        name: unique.
        kind: where it stands.
        speaks: languages that an interpreter reads, or in which the text is written; empty for any.
        first: the first line, of an interpreter.
        header: lines of options, without their ``#SBATCH``.
        text: the script's own lines.
        files: what lies beside the script, by name; those with a ``#!`` can be run.
        arguments: of the script.
        environment: of who submits.
        command: sbatch's own words, before the script.
        acts: what is done from outside, in this order.
        around: the script that calls the text as a command; ``{call}`` stands for each call.
        wrap: whether the job is given to ``sbatch --wrap`` instead of a script.
        managers: resource managers that have such a thing.
        ways: names of the ways that can be compared for it; empty for all.
        seconds: how long a job with it takes at most, on an idle machine.
        volatile: aspects, as globs, that differ between two plain runs, too.
    """

    name: str
    kind: Kind
    speaks: tuple[str, ...] = ()
    first: bytes = b""
    header: tuple[bytes, ...] = ()
    text: bytes = b""
    files: dict[str, bytes] = msgspec.field(default_factory=dict)
    arguments: tuple[bytes, ...] = ()
    environment: dict[str, str] = msgspec.field(default_factory=dict)
    command: tuple[str, ...] = ()
    acts: tuple[Act, ...] = ()
    around: bytes = b""
    wrap: bool = False
    managers: tuple[str, ...] = ("slurm", "local")
    ways: tuple[str, ...] = ()
    seconds: float = 10.0
    volatile: tuple[str, ...] = ()


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """A job: a name, and the names of its features in the order of their text."""

    name: str
    features: tuple[str, ...]


class Rules(Enum):
    """Rules that never match."""

    NONE = "none"  # a file without any, or no file
    QUIET = "quiet"  # one for the output, one for exits
    NODES = "nodes"  # one for lost nodes besides


class Way(msgspec.Struct, frozen=True, kw_only=True):
    """A way to wrap a job.

    Attributes:
        name: unique.
        command: what is called: ``run`` (``whesl run SCRIPT``), ``exec`` (``whesl exec`` before the command
            that the script consists of) or ``front`` (``whesl front`` before a program that submits jobs).
        rules: which ones it is given.
        observe: whether with ``--observe``.
    """

    name: str
    command: str
    rules: Rules
    observe: bool = False


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one run of a case, normalised: by aspect, what was seen.

    Aspects are ``job:<job>:<field>``, ``step:<job>:<step>``, ``file:<path>``, ``env:<path>:<variable>``,
    ``agents:<job>``, ``messages:<path>``, ``shell:<path>``, ``rerun:<path>`` (of a job that ran again),
    ``when:<path>`` (seconds from the last act until a file was written), ``mail:<number>`` and ``submitted``.
    ``said`` is what the submission printed last; it is shown and not compared.
    """

    aspects: dict[str, str]
    said: str = ""


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """One aspect in which a wrapped job differs from the plain one; None where one of them lacks it."""

    aspect: str
    plain: str | None
    wrapped: str | None


# Plain runs beside plain ones: what differs there is no matter of wrapping.
CONTROLS = {
    command: Way(name=f"control-{command}", command=command, rules=Rules.NONE)
    for command in ("run", "exec", "front")
}
WAYS = (
    Way(name="run", command="run", rules=Rules.QUIET),
    Way(name="run-none", command="run", rules=Rules.NONE),
    Way(name="run-observe", command="run", rules=Rules.QUIET, observe=True),
    Way(name="exec", command="exec", rules=Rules.QUIET),
    Way(name="exec-none", command="exec", rules=Rules.NONE),
    Way(name="observe", command="exec", rules=Rules.QUIET, observe=True),
    Way(name="observe-nodes", command="exec", rules=Rules.NODES, observe=True),
    Way(name="front", command="front", rules=Rules.QUIET),
)
