"""The port to workflow managers: what an adapter offers, and what it is given.

A package offers its adapter as an entry point of the group ``whesl.managers.workflow``: a class that is
called without arguments. Contract tests: ``WorkflowManagerContract``.
"""

from __future__ import annotations

from whesl.api.lazy_names_and_deprecation import lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from whesl.language.pattern_and_stream_records import Span as Span
    from whesl.language.spec import Entity as Entity
    from whesl.language.spec import RecoveryStep as RecoveryStep
    from whesl.managers.workflow.port import Fluxified as Fluxified
    from whesl.managers.workflow.port import FluxifyOptions as FluxifyOptions
    from whesl.managers.workflow.port import RemovesOlderRun as RemovesOlderRun
    from whesl.managers.workflow.port import Running as Running
    from whesl.managers.workflow.port import RunPlan as RunPlan
    from whesl.managers.workflow.port import Verifies as Verifies
    from whesl.managers.workflow.port import WorkflowManager as WorkflowManager
    from whesl.managers.workflow.script_wrapping import Program as Program
    from whesl.managers.workflow.script_wrapping import TaskCall as TaskCall
    from whesl.managers.workflow.script_wrapping import Wrapping as Wrapping
    from whesl.model.configuration_changes import Configuration as Configuration
    from whesl.model.errors import CouldNotObserveError as CouldNotObserveError
    from whesl.model.errors import RefusedError as RefusedError
    from whesl.model.errors import TransientError as TransientError
    from whesl.model.errors import UsageError as UsageError
    from whesl.model.evidence import Evidence as Evidence
    from whesl.model.evidence import Raised as Raised
    from whesl.model.pathmap import PathMap as PathMap
    from whesl.model.pathmap import PathRule as PathRule
    from whesl.model.workflow import Task as Task
    from whesl.model.workflow import Workflow as Workflow

if not TYPE_CHECKING:  # for type checkers a misspelled name stays an error
    __getattr__, __dir__ = lazily(__name__)
