"""Words of a diagnosis: roles of messages, how a job ended, what mostly helps against a class of causes."""

from __future__ import annotations

from enum import Enum

from whesl.model.evidence import Advice, CauseClass


class Role(Enum):
    """What a message says of the job that printed it.

    ``cause``: it names what went wrong. ``symptom``: another process, or a launcher, tells of what it saw.
    ``harmless``: jobs that end well print it too. ``end``: the program says that it has done its work.
    ``fact``: where ranks run and which one failed first. ``topic``: words that say of which class a message
    is that may tell of any trouble; not looked for by themselves.
    """

    CAUSE = "cause"
    SYMPTOM = "symptom"
    HARMLESS = "harmless"
    END = "end"
    FACT = "fact"
    TOPIC = "topic"


class Outcome(Enum):
    """How a job ended, as far as its log tells."""

    FAILED = "failed"
    ENDED_WELL = "ended-well"
    UNKNOWN = "unknown"


ADVICE = {
    CauseClass.MEMORY_HOST: Advice.OTHER_RESOURCES,
    CauseClass.MEMORY_GPU: Advice.OTHER_RESOURCES,
    CauseClass.GPU: Advice.OTHER_NODES,
    CauseClass.FABRIC: Advice.OTHER_NODES,
    CauseClass.NODE: Advice.OTHER_NODES,
    CauseClass.FULL: Advice.OTHER_RESOURCES,
    CauseClass.QUOTA: Advice.OTHER_RESOURCES,
    CauseClass.FILESYSTEM: Advice.SAME_NODES,
    CauseClass.TIME: Advice.OTHER_RESOURCES,
    CauseClass.CANCELLED: Advice.SAME_NODES,
    CauseClass.HANG: Advice.SAME_NODES,
    CauseClass.BUG: Advice.NONE,
    CauseClass.NUMERICAL: Advice.NONE,
    CauseClass.INPUT: Advice.NONE,
    CauseClass.DEPENDENCY: Advice.NONE,
    CauseClass.LICENCE: Advice.NONE,
    CauseClass.CONTAINER: Advice.NONE,
    CauseClass.LAUNCHER: Advice.SAME_NODES,
    CauseClass.OTHER_RANK: Advice.UNKNOWN,
}

# A job may print some more steps after one of these: another rank, or the next write, meets it later.
LASTING = frozenset(
    {
        CauseClass.MEMORY_HOST,
        CauseClass.GPU,
        CauseClass.FABRIC,
        CauseClass.NODE,
        CauseClass.FULL,
        CauseClass.QUOTA,
        CauseClass.FILESYSTEM,
        CauseClass.NUMERICAL,
    }
)

# What ends a job that hangs, sooner or later.
ENDS_A_HANG = frozenset({CauseClass.TIME, CauseClass.CANCELLED})

STRENGTH = {Role.CAUSE: 80, Role.SYMPTOM: 45, Role.HARMLESS: 0, Role.END: 80, Role.FACT: 0, Role.TOPIC: 50}
