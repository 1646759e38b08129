"""Translates Slurm's states into the port's states, its reasons into sentences, its messages into kinds.

Sources: squeue(1) "JOB STATE CODES" and "JOB REASON CODES", sinfo(1) "NODE STATE CODES" (22.05 to 24.11),
and replies of real clusters where the manuals say nothing.
"""

from __future__ import annotations

from enum import Enum

from whesl.model.states import JobState, NodeState

# States that are not in this table are UNKNOWN, which never counts as ended.
JOB_STATES: dict[str, JobState] = {
    "PENDING": JobState.PENDING,
    "CONFIGURING": JobState.PENDING,  # the job's nodes are booting
    "REQUEUED": JobState.PENDING,
    "REQUEUE_HOLD": JobState.PENDING,
    "REQUEUE_FED": JobState.PENDING,
    "RESV_DEL_HOLD": JobState.PENDING,
    "SPECIAL_EXIT": JobState.PENDING,  # the job was requeued and is held
    "EXPEDITING": JobState.PENDING,
    "RUNNING": JobState.RUNNING,
    "RESIZING": JobState.RUNNING,
    "SIGNALING": JobState.RUNNING,
    "STOPPED": JobState.RUNNING,  # the job was stopped and keeps its nodes
    "SUSPENDED": JobState.RUNNING,
    "COMPLETING": JobState.COMPLETING,
    "STAGE_OUT": JobState.COMPLETING,
    "COMPLETED": JobState.COMPLETED,
    "FAILED": JobState.FAILED,
    "LAUNCH_FAILED": JobState.FAILED,
    "RECONFIG_FAIL": JobState.FAILED,
    "CANCELLED": JobState.CANCELLED,
    "REVOKED": JobState.CANCELLED,
    "TIMEOUT": JobState.TIMEOUT,
    "DEADLINE": JobState.TIMEOUT,
    "NODE_FAIL": JobState.NODE_FAIL,
    "BOOT_FAIL": JobState.NODE_FAIL,
    "OUT_OF_MEMORY": JobState.OUT_OF_MEMORY,
    "PREEMPTED": JobState.PREEMPTED,
}

_REASONS: dict[str, str] = {
    "BadConstraints": "no node can ever satisfy what the job asks for",
    "BeginTime": "the job's earliest start time has not come (a requeued job waits two minutes)",
    "Cleaning": "the previous run of the job is still being cleaned up",
    "Dependency": "waits for another job",
    "DependencyNeverSatisfied": "a job that it depends on failed: it can never run",
    "FrontEndDown": "no front-end node is available",
    "InactiveLimit": "the job was inactive for too long",
    "InvalidAccount": "the account is not valid",
    "InvalidQOS": "the quality of service is not valid",
    "JobArrayTaskLimit": "the array's limit of running tasks is reached",
    "JobHeldAdmin": "held by an administrator",
    "JobHeldUser": "held by its owner",
    "JobLaunchFailure": "could not be started: a bad node, file system or script",
    "Licenses": "waits for a licence",
    "NodeDown": "a node that it needs is down",
    "NonZeroExitCode": "its script ended with a non-zero status",
    "OutOfMemory": "used more memory than it asked for",
    "PartitionConfig": "asks for more than its partition has",
    "PartitionDown": "its partition is down",
    "PartitionNodeLimit": "asks for more nodes than its partition allows",
    "PartitionTimeLimit": "asks for more time than its partition allows",
    "Priority": "other jobs come first",
    "Prolog": "the site's prolog runs",
    "ReqNodeNotAvail": "a node that it asks for is not available",
    "Reservation": "waits for its reservation",
    "Resources": "waits for nodes to become free",
    "SystemFailure": "a failure of Slurm, a file system or the network",
    "TimeLimit": "reached its time limit",
    "WaitingForScheduling": "has not been looked at by the scheduler yet",
    "job requeued in held state": "was requeued and is held: `scontrol release` lets it run",
    "launch failed requeued held": "could not be started, was requeued and is held",
}

# Reasons of these beginnings name limits, such as QOSMaxNodePerUserLimit.
_LIMITS = {
    "Assoc": "a limit of the account is reached",
    "MaxCpuPerAccount": "a limit of the account is reached",
    "QOS": "a limit of its quality of service (QOS) is reached",
}


def job_state(word: str) -> JobState:
    """Return the state for Slurm's word for a job's state, also for ``CANCELLED by 1000`` and ``FAILED+``."""
    words = word.split()
    return JOB_STATES.get(words[0].rstrip("+"), JobState.UNKNOWN) if words else JobState.UNKNOWN


def reason_text(word: str) -> str:
    """Return Slurm's reason for a job's state with an explanation; empty for a job without a reason."""
    if word in ("", "None", "(null)", "N/A"):
        return ""
    name = word.split(",")[0]
    text = _REASONS.get(name) or next((told for start, told in _LIMITS.items() if name.startswith(start)), "")
    return f"{word}: {text}" if text else word


_DOWN = frozenset({"down", "error", "future", "inval", "powered_down", "powering_down"})
_GONE = frozenset({"power_down", "power_off", "reboot_issued"})
# Administrators set "fail" on a node that still works, but is expected to fail.
_DRAIN = frozenset({"fail", "failing", "drain", "drained", "draining"})
_UP = frozenset(
    {"idle", "allocated", "mixed", "completing", "planned", "reserved", "resv", "comp", "alloc", "mix"}
)
_SILENT = frozenset({"not_responding", "no_respond"})
# Suffixes of sinfo's short states: not responding, powering, rebooting, planned.
_MARKS = "*~#!%$@^-+"


def node_state(word: str) -> NodeState:
    """Return the state for sinfo's ``StateComplete`` of a node, such as ``down+drain+not_responding``.

    A node that does not respond, but is not declared down, is UNKNOWN. The short form (``%T``) works, too,
    but prints "drained" for a node that is down and drained.
    """
    silent = "*" in word
    words = {part.strip(_MARKS) for part in word.lower().split("+")} - {""}
    if words & (_DOWN | _GONE):
        return NodeState.DOWN
    if silent or words & _SILENT:
        return NodeState.UNKNOWN
    if words & _DRAIN:
        return NodeState.DRAINED
    return NodeState.UP if words & _UP else NodeState.UNKNOWN


# The reason that an undrained node gets. Without a new reason, Slurm 24.05 and 25.11 without accounting keep
# the drain's old reason, and show it again at the node's next drain, such as by a failing prolog.
UNDRAINED = "whesl has taken its drain back"


class Reply(str, Enum):
    """The kinds of answers that a failed command's message can mean."""

    NO_JOB = "no such job"
    DENIED = "not permitted"
    SILENT = "no answer"  # the request may or may not have taken effect
    LATER = "not now"
    NO = "no"


# The first text that occurs in the message decides its kind; a message with none of them is Reply.NO.
_REPLIES: tuple[tuple[str, Reply], ...] = (
    ("Invalid job id specified", Reply.NO_JOB),
    ("Invalid user id", Reply.DENIED),
    ("Access/permission denied", Reply.DENIED),
    ("Access denied", Reply.DENIED),
    ("Operation not permitted", Reply.DENIED),
    ("Unable to contact slurm controller", Reply.SILENT),
    ("Socket timed out", Reply.SILENT),
    ("Unexpected message received", Reply.SILENT),
    ("Zero Bytes were transmitted", Reply.SILENT),
    ("Connection refused", Reply.SILENT),
    ("connection failure", Reply.SILENT),
    ("Insane message length", Reply.SILENT),
    ("No route to host", Reply.SILENT),
    ("Invalid authentication credential", Reply.SILENT),
    ("Protocol authentication error", Reply.SILENT),
    ("Munge", Reply.SILENT),
    ("configuration source", Reply.SILENT),
    ("slurmdbd", Reply.SILENT),
    ("try again", Reply.LATER),
    ("temporarily", Reply.LATER),
    ("already completing", Reply.LATER),
    # EIO, ESTALE and EREMOTEIO (strerror(3)): the file of a script or command cannot be read for the moment.
    ("Input/output error", Reply.LATER),
    ("Stale file handle", Reply.LATER),
    ("Remote I/O error", Reply.LATER),
    ("Job violates accounting/QOS policy", Reply.NO),
)


def reply_kind(message: str) -> Reply:
    """Return the kind of answer in a failed command's standard error."""
    return next((kind for text, kind in _REPLIES if text.lower() in message.lower()), Reply.NO)
