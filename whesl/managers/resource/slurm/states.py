"""Slurm's states as the port has them, and its reasons and refusals in words for people.

Sources: squeue(1) "JOB STATE CODES" and "JOB REASON CODES", sinfo(1) "NODE STATE CODES" (22.05 to 24.11),
and replies seen from real clusters where the manual is silent.
"""

from __future__ import annotations

from enum import Enum

from whesl.model.states import JobState, NodeState

# A state that is not in the table is UNKNOWN, which is never treated as ended.
JOB_STATES: dict[str, JobState] = {
    "PENDING": JobState.PENDING,
    "CONFIGURING": JobState.PENDING,  # nodes are booting, nothing runs yet
    "REQUEUED": JobState.PENDING,
    "REQUEUE_HOLD": JobState.PENDING,
    "REQUEUE_FED": JobState.PENDING,
    "RESV_DEL_HOLD": JobState.PENDING,
    "SPECIAL_EXIT": JobState.PENDING,  # requeued and held
    "EXPEDITING": JobState.PENDING,
    "RUNNING": JobState.RUNNING,
    "RESIZING": JobState.RUNNING,
    "SIGNALING": JobState.RUNNING,
    "STOPPED": JobState.RUNNING,  # holds its nodes
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
    "AssocGrpNodeLimit": "the account's limit of nodes is reached",
    "AssocMaxJobsLimit": "the account's limit of running jobs is reached",
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
    "QOSMaxJobsPerUserLimit": "the user's limit of running jobs is reached",
    "ReqNodeNotAvail": "a node that it asks for is not available",
    "Reservation": "waits for its reservation",
    "Resources": "waits for nodes to become free",
    "SystemFailure": "a failure of Slurm, a file system or the network",
    "TimeLimit": "reached its time limit",
    "WaitingForScheduling": "has not been looked at by the scheduler yet",
    "job requeued in held state": "was requeued and is held: `scontrol release` lets it run",
    "launch failed requeued held": "could not be started, was requeued and is held",
}


def job_state(word: str) -> JobState:
    """Return the state for Slurm's word (``CANCELLED by 1000`` and ``FAILED+`` included)."""
    words = word.split()
    return JOB_STATES.get(words[0].rstrip("+"), JobState.UNKNOWN) if words else JobState.UNKNOWN


def reason_text(word: str) -> str:
    """Return Slurm's reason for a job's state with an explanation, empty when there is none."""
    if word in ("", "None", "(null)", "N/A"):
        return ""
    name = word.split(",")[0]
    text = _REASONS.get(name)
    return f"{word}: {text}" if text else word


_DOWN = frozenset({"down", "error", "future", "inval", "powered_down", "powering_down"})
_GONE = frozenset({"power_down", "power_off", "reboot_issued"})
# An administrator sets "fail" on a node that works, and is expected to fail.
_DRAIN = frozenset({"fail", "failing", "drain", "drained", "draining"})
_UP = frozenset(
    {"idle", "allocated", "mixed", "completing", "planned", "reserved", "resv", "comp", "alloc", "mix"}
)
_SILENT = frozenset({"not_responding", "no_respond"})
# Suffixes of the short form: not responding, powering, rebooting, planned.
_MARKS = "*~#!%$@^-+"


def node_state(word: str) -> NodeState:
    """Return the state for ``StateComplete`` of sinfo, such as ``down+drain+not_responding``.

    A node that does not respond, and that Slurm has not declared down, was not observed: UNKNOWN. The short
    form (``%T``) will do as well, but it prints a node that is down and drained as drained.
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


# The reason of a node whose drain is taken back. Slurm 24.05 and 25.11 without accounting would keep the
# drain's own, and show it for whatever drains the node next, such as a prolog that fails.
UNDRAINED = "whesl has taken its drain back"


class Reply(str, Enum):
    """The kinds of answers that a failed command's message can be."""

    NO_JOB = "no such job"
    DENIED = "not permitted"
    SILENT = "no answer"  # the request may or may not have been carried out
    LATER = "not now"
    NO = "no"


# The first text that occurs in the message decides; without any, the answer is a plain no.
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
    # strerror(3) of EIO, ESTALE and EREMOTEIO: a script or a command could not be read for the moment.
    ("Input/output error", Reply.LATER),
    ("Stale file handle", Reply.LATER),
    ("Remote I/O error", Reply.LATER),
    ("Job violates accounting/QOS policy", Reply.NO),
)


def reply_kind(message: str) -> Reply:
    """Return the meaning of a failed command's standard error."""
    return next((kind for text, kind in _REPLIES if text.lower() in message.lower()), Reply.NO)
