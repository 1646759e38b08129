"""The port to resource managers: what an adapter offers, and what it is given.

A package offers its adapter as entry points of the group ``whesl.managers.resource``: ``NAME-scheduler``, a
class called with keyword options, and ``NAME-allocation``, a class called with the environment. The latter's
static method ``present(environ)`` says whether a process is inside a job of its kind. Abilities that not
every manager has are protocols of their own: an adapter has one by having its methods.

Contract tests: ``SchedulerContract``, ``AllocationContract``, ``NodeLossContract``.
"""

from __future__ import annotations

from whesl.api.lazy_names_and_deprecation import lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from whesl.managers.resource.port import Allocation as Allocation
    from whesl.managers.resource.port import AllocationInfo as AllocationInfo
    from whesl.managers.resource.port import AllowsRequeue as AllowsRequeue
    from whesl.managers.resource.port import ChangesLimits as ChangesLimits
    from whesl.managers.resource.port import ChoosesCluster as ChoosesCluster
    from whesl.managers.resource.port import Closing as Closing
    from whesl.managers.resource.port import CountsFree as CountsFree
    from whesl.managers.resource.port import Demands as Demands
    from whesl.managers.resource.port import ForbidsRequeue as ForbidsRequeue
    from whesl.managers.resource.port import JobException as JobException
    from whesl.managers.resource.port import JobHolder as JobHolder
    from whesl.managers.resource.port import JobRecord as JobRecord
    from whesl.managers.resource.port import JobRequest as JobRequest
    from whesl.managers.resource.port import LiftsHold as LiftsHold
    from whesl.managers.resource.port import Limits as Limits
    from whesl.managers.resource.port import LocatesSteps as LocatesSteps
    from whesl.managers.resource.port import Nests as Nests
    from whesl.managers.resource.port import NodeEvent as NodeEvent
    from whesl.managers.resource.port import NodeRecord as NodeRecord
    from whesl.managers.resource.port import ReadsScripts as ReadsScripts
    from whesl.managers.resource.port import RequeuesLost as RequeuesLost
    from whesl.managers.resource.port import Scheduler as Scheduler
    from whesl.managers.resource.port import Step as Step
    from whesl.managers.resource.port import StepHolder as StepHolder
    from whesl.managers.resource.port import StepPlace as StepPlace
    from whesl.managers.resource.port import StepRequest as StepRequest
    from whesl.managers.resource.port import Suspendable as Suspendable
    from whesl.managers.resource.port import Suspended as Suspended
    from whesl.managers.resource.port import TakesRemarks as TakesRemarks
    from whesl.managers.resource.port import TellsEvents as TellsEvents
    from whesl.managers.resource.port import TellsReasons as TellsReasons
    from whesl.managers.resource.port import TriesRequests as TriesRequests
    from whesl.managers.resource.port import TruncatesOutput as TruncatesOutput
    from whesl.model.errors import CouldNotObserveError as CouldNotObserveError
    from whesl.model.errors import RefusedError as RefusedError
    from whesl.model.errors import TransientError as TransientError
    from whesl.model.errors import UsageError as UsageError
    from whesl.model.states import JobState as JobState
    from whesl.model.states import NodeState as NodeState

if not TYPE_CHECKING:  # for type checkers a misspelled name stays an error
    __getattr__, __dir__ = lazily(__name__)
