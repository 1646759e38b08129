"""Specifications and a task, built from records: these tests do not depend on the parser."""

from whesl.language.detections.kinds import Detection
from whesl.language.pattern_and_stream_records import Source, Span, Stream
from whesl.language.spec import (
    Entity,
    ExceptionSpec,
    Level,
    Operation,
    RecoveryStep,
    ResourceDeclaration,
    ResourceKind,
    Spec,
)
from whesl.model.workflow import Task

SPAN = Span(line=1, column=1, end_line=1, end_column=2)
STDOUT = Source(stream=Stream.STDOUT)
STDERR = Source(stream=Stream.STDERR)
TASK = Task(id="wf/solve_1", step="solve", instance="1")


def exception(name: str, *detections: Detection, jobs: tuple[str, ...] = ("solve",)) -> ExceptionSpec:
    step = RecoveryStep(entity=Entity.JOB, resource=ResourceKind.JOB, operation=Operation.REPLACE, span=SPAN)
    return ExceptionSpec(
        name=name, level=Level.JOB_LEVEL, jobs=jobs, detections=detections, steps=(step,), span=SPAN
    )


def spec(*exceptions: ExceptionSpec) -> Spec:
    return Spec(
        file="test.esl",
        entities=(Entity.JOB,),
        levels=(Level.JOB_LEVEL,),
        resources=(ResourceDeclaration(resource=ResourceKind.JOB, operations=()),),
        exceptions=exceptions,
    )
