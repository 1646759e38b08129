"""Words of a diagnosis: roles of messages, outcomes of jobs, the usual advice for a class of causes."""

from __future__ import annotations

from enum import Enum

from whesl.model.evidence import Advice, CauseClass


class Role(Enum):
    """The meaning of a message for the job that printed it.

    ``cause``: the message names the fault. ``symptom``: another process, or a launcher, reports its view of
    the failure. ``harmless``: successful jobs print the message, too. ``end``: the program says that it has
    done its work. ``fact``: the message tells where ranks run or which one failed first. ``topic``: words
    that give the class of a message about any trouble. ``words``: they tell what a line is.
    """

    CAUSE = "cause"
    SYMPTOM = "symptom"
    HARMLESS = "harmless"
    END = "end"
    FACT = "fact"
    TOPIC = "topic"
    WORDS = "words"


NOT_SOUGHT = (Role.TOPIC, Role.WORDS)  # read only in lines, or beside lines, in which others were found


class Outcome(Enum):
    """How a job ended, according to its log."""

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

# Faults after which a job may print further steps, since another rank or the next write meets them later.
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

# Causes of which a program may tell only that something failed: another line near by names them.
DEEPER = frozenset(
    {
        CauseClass.MEMORY_HOST,
        CauseClass.MEMORY_GPU,
        CauseClass.GPU,
        CauseClass.FULL,
        CauseClass.QUOTA,
        CauseClass.FILESYSTEM,
        CauseClass.NUMERICAL,
    }
)

# Causes that finally end a hanging job.
ENDS_A_HANG = frozenset({CauseClass.TIME, CauseClass.CANCELLED})

# What may follow from a fault after the job went on for a while; other failures are of their own.
_PEERS = frozenset({CauseClass.OTHER_RANK, CauseClass.LAUNCHER, CauseClass.HANG, *ENDS_A_HANG})
FOLLOWS: dict[CauseClass | None, frozenset[CauseClass]] = {
    CauseClass.MEMORY_HOST: _PEERS | {CauseClass.BUG, CauseClass.FABRIC, CauseClass.NODE},
    CauseClass.GPU: _PEERS | {CauseClass.BUG, CauseClass.FABRIC, CauseClass.NODE, CauseClass.NUMERICAL},
    CauseClass.FABRIC: _PEERS | {CauseClass.BUG, CauseClass.NODE, CauseClass.FILESYSTEM},
    CauseClass.NODE: _PEERS | {CauseClass.BUG, CauseClass.FABRIC, CauseClass.FILESYSTEM},
    CauseClass.FULL: _PEERS | {CauseClass.BUG, CauseClass.QUOTA, CauseClass.FILESYSTEM},
    CauseClass.QUOTA: _PEERS | {CauseClass.BUG, CauseClass.FULL, CauseClass.FILESYSTEM},
    CauseClass.FILESYSTEM: _PEERS | {CauseClass.BUG, CauseClass.FULL, CauseClass.QUOTA},
    CauseClass.NUMERICAL: _PEERS | {CauseClass.BUG},
}
# What the rest of a script may die of, since the program before it has died.
AFTERMATH = _PEERS | {CauseClass.INPUT, CauseClass.DEPENDENCY}

STRENGTH = dict.fromkeys(Role, 0) | {Role.CAUSE: 80, Role.SYMPTOM: 45, Role.END: 80, Role.TOPIC: 50}

# What a resource manager's states say of a job that ended otherwise than well.
STATES = {
    "TIMEOUT": (CauseClass.TIME, "The job reached its limit of time"),
    "DEADLINE": (CauseClass.TIME, "The job could not end before its deadline"),
    "OUT_OF_MEMORY": (CauseClass.MEMORY_HOST, "The job used more memory than it had asked for"),
    "NODE_FAIL": (CauseClass.NODE, "A node of the job failed"),
    "BOOT_FAIL": (CauseClass.NODE, "A node of the job did not boot"),
    "PREEMPTED": (CauseClass.CANCELLED, "Another job took the nodes of this one"),
    "CANCELLED": (CauseClass.CANCELLED, "The job was cancelled"),
}
