"""How things end and what is done about them: the enumerations of journal records and messages."""

from __future__ import annotations

from enum import Enum

FUNCTION_RAISED = 214  # exit status of a function's process after an exception without another attempt


class TextEnum(str, Enum):
    """Base: in text, a member is its value."""

    def __str__(self) -> str:
        return str(self.value)

    def __format__(self, spec: str) -> str:
        return format(str(self.value), spec)


class Action(TextEnum):
    """What is done about an exception."""

    RECOVER = "recover"
    FAIL = "fail"
    PAUSE = "pause"
    ESCALATE = "escalate"


class StepOutcome(TextEnum):
    """How a recovery goes on after one of the isolator's steps."""

    CONTINUE = "continue"
    SKIP = "skip"  # the task counts as done
    PAUSE = "pause"
    FAIL = "fail"
    ESCALATE = "escalate"


class RecoveryOutcome(TextEnum):
    """How a recovery ended. ``RECOVERED``: the restarted program has gone on past what had failed."""

    RELAUNCHED = "relaunched"
    PAUSED = "paused"
    FAILED = "failed"
    ESCALATED = "escalated"
    SKIPPED = "skipped"
    RECOVERED = "recovered"


class RequeueSaid(TextEnum):
    """What a user has said of running a job again, at its submission. ``UNKNOWN``: it was not looked up."""

    UNKNOWN = ""
    NOTHING = "nothing"
    YES = "requeue"
    NO = "no-requeue"


class JobRaiseOutcome(TextEnum):
    """The result of raising an exception on a job. ``NONE``: the job has no task that could take it."""

    OPEN = ""
    RAISED = "raised"
    NONE = "none"
    FAILED = "failed"


class ControlAction(TextEnum):
    """What a person asks of a task."""

    RESUME = "resume"
    PAUSE = "pause"
    CANCEL = "cancel"
    RAISE = "raise"
    PREDICT = "predict"


class Origin(TextEnum):
    """Why the coordinator recovers: who waits for it.

    An isolator waits for a grant (``REQUEST``) or a decision (``ESCALATION``); exceptions of several tasks
    together became another one, and nobody waits (``COUNTED``).
    """

    REQUEST = "request"
    ESCALATION = "escalation"
    COUNTED = "counted"


class OwnStepOutcome(TextEnum):
    """How one of the coordinator's steps ended. ``LATER``: to be tried again after a while."""

    CONTINUE = "continue"
    REQUEUE = "requeue"  # the job has to run again
    FAIL = "fail"
    LATER = "later"


class Verdict(TextEnum):
    """What becomes of an escalated task."""

    REQUEUE = "requeue"
    FAIL = "fail"
    PAUSE = "pause"


class OrderStatus(TextEnum):
    """How far an order to a scheduler has come. ``LATER``: it could not be asked."""

    DECIDED = "decided"
    BEGUN = "begun"
    DONE = "done"
    REFUSED = "refused"
    LATER = "later"


class ToldBy(TextEnum):
    """Who told how a task ended."""

    NOBODY = ""
    ISOLATOR = "isolator"
    SCHEDULER = "scheduler"
    COORDINATOR = "coordinator"
