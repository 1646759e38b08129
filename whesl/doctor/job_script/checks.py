"""The table of checks of rules against their job's script."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from whesl.doctor.job_script import again, ends, files, lines, recoveries, streams, timers
from whesl.doctor.job_script.script import DetectionCheck, JobScript, StepCheck, Unfit, Watch
from whesl.language.detections.base import Kind
from whesl.language.spec import ExceptionSpec, Operation, RecoveryStep, ResourceKind

DETECTIONS: tuple[DetectionCheck, ...] = (
    files.written_elsewhere,
    files.promised_otherwise,
    files.never_named,
    files.unwritten,
    files.said_elsewhere,
    files.of_another_step,
    files.out_of_sight,
    files.spoilt,
    lines.printed,
    lines.of_another_step,
    streams.sent_elsewhere,
    streams.filtered,
    streams.buffered,
    streams.other_stream,
    streams.in_another_job,
    streams.of_another_launcher,
    streams.of_the_kernel,
    lines.nearly,
    lines.alone_in_a_line,
    lines.other_case,
    lines.language,
    lines.counted,
    lines.ends_torchrun,
    timers.too_late,
    timers.kept_going,
    timers.stands_still,
    timers.written_late,
    ends.hidden,
    ends.trapped,
    ends.changed,
    ends.of_python,
    ends.without_stack,
    ends.taken,
    streams.unlabelled,
    streams.without_gpu,
    streams.hears_manager,
    streams.other_nodes,
)
# Checks of DETECTIONS that find what harms each single job.
_HARMFUL = {lines.printed, lines.ends_torchrun, timers.kept_going, timers.stands_still, timers.written_late}
STEPS: tuple[StepCheck, ...] = (
    recoveries.undone,
    recoveries.past_the_launchers,
    recoveries.meets_on_its_own_host,
    recoveries.fewer_than_asked,
    recoveries.no_more_than_before,
    recoveries.other_file_system,
    recoveries.other_trigger,
    recoveries.unheard,
    recoveries.never_written,
    recoveries.of_another_manager,
    recoveries.removes_what_is_needed,
    again.fails_again,
)


class ScriptChecks:
    """Checks rules against the texts of their jobs' scripts.

    Args:
        scripts: the text of each step's script, by the step's name; of the step "", text that holds the
            scripts of any step, of which only the lines are looked at.
        read: returns the text of a file that the script of a step names; "" where it cannot be read.
    """

    def __init__(self, scripts: Mapping[str, str], read: Callable[[str, str], str]) -> None:
        self._scripts = [JobScript(text, step != "", step) for step, text in scripts.items()]
        for script in self._scripts:
            script.texts = {x: read(script.step, x) for x in (*script.shown, *(x for x, _ in script.files))}

    def writes(self, path: str, steps: AbstractSet[str]) -> bool:
        """Whether the script of one of some steps writes a file of this path, or makes its directory.

        Args:
            path: as the rule has it.
            steps: names of steps.
        """
        return any(files.writes(script, path) for script in self._of(steps))

    def names(self, file: str) -> bool:
        """Whether a script has the name of a file, which it may make."""
        return any(file in script.text for script in self._scripts)

    def findings(
        self,
        detection: Kind,
        exception: ExceptionSpec,
        exceptions: Sequence[ExceptionSpec],
        steps: AbstractSet[str],
    ) -> Iterator[Unfit]:
        """Yield what does not fit in a detection of an exception of some steps.

        What makes the detection useless is told where that is so for each of the steps.

        Args:
            detection: the detection.
            exception: the exception that has it.
            exceptions: all exceptions of the specification.
            steps: names of the steps that the exception covers.
        """
        scripts = self._of(steps)
        others = [script for script in self._scripts if script not in scripts]
        watch = Watch(detection, exception, exceptions, others)
        for check in DETECTIONS:
            found = [tuple(check(script, watch)) for script in scripts]
            if check in _HARMFUL or all(found):
                yield from next(filter(None, found), ())

    def undone(
        self, recovery: RecoveryStep, exception: ExceptionSpec, steps: AbstractSet[str]
    ) -> Iterator[Unfit]:
        """Yield what the scripts of some steps undo of an exception's step, and what does not fit.

        Args:
            recovery: a step of the recovery.
            exception: the exception that has it.
            steps: names of the steps that the exception covers.
        """
        scripts = self._of(steps)
        clears = any((x.resource, x.operation) == (ResourceKind.JOB, Operation.ADD) for x in exception.steps)
        for check in STEPS:
            if clears and check is again.fails_again:
                continue  # a command runs between the attempts, and may clear up behind the first
            found = [tuple(check(script, recovery)) for script in scripts]
            if all(found):
                yield from next(iter(found), ())

    def _of(self, steps: AbstractSet[str]) -> list[JobScript]:
        return [script for script in self._scripts if not script.step or script.step in steps]
