"""The table of checks of rules against their job's script."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from whesl.doctor.job_script import ends, files, lines, recoveries, streams, timers
from whesl.doctor.job_script.script import JobScript, Unfit, Watch
from whesl.language.detections.base import Kind
from whesl.language.spec import ExceptionSpec, RecoveryStep

# Checks of a detection. Each is a pure function of the script and the detection.
DETECTIONS: tuple[Callable[[JobScript, Watch], Iterator[Unfit]], ...] = (
    files.written_elsewhere,
    files.out_of_sight,
    files.spoilt,
    lines.printed,
    streams.sent_elsewhere,
    streams.filtered,
    streams.buffered,
    streams.other_stream,
    streams.in_another_job,
    streams.of_another_launcher,
    streams.of_the_kernel,
    lines.nearly,
    lines.alone_in_a_line,
    lines.language,
    lines.counted,
    lines.ends_torchrun,
    timers.too_late,
    timers.waits_too_long,
    timers.kept_going,
    timers.stands_still,
    ends.hidden,
    ends.trapped,
    ends.changed,
    ends.taken,
    streams.unlabelled,
    streams.hears_manager,
    streams.other_nodes,
)
# Checks of a recovery step, in the same way.
STEPS: tuple[Callable[[JobScript, RecoveryStep], Iterator[Unfit]], ...] = (
    recoveries.undone,
    recoveries.past_the_launchers,
    recoveries.fewer_than_asked,
    recoveries.no_more_than_before,
    recoveries.other_file_system,
    recoveries.other_trigger,
    recoveries.of_another_manager,
    recoveries.removes_what_is_needed,
)


class ScriptChecks:
    """Checks rules against the texts of their jobs' scripts.

    Args:
        commands: the texts of the workflow's scripts, or of its study.
        alone: whether ``commands`` is the script of all jobs of the workflow.
    """

    def __init__(self, commands: str, alone: bool) -> None:
        self._script = JobScript(commands, alone)

    def writes(self, path: str) -> bool:
        """Whether the script itself writes a file of this path, or makes its directory."""
        return files.writes(self._script, path)

    def findings(
        self, detection: Kind, exception: ExceptionSpec, exceptions: Sequence[ExceptionSpec]
    ) -> Iterator[Unfit]:
        """Yield what does not fit in a detection of an exception."""
        watch = Watch(detection, exception, exceptions)
        for check in DETECTIONS:
            yield from check(self._script, watch)

    def undone(self, step: RecoveryStep) -> Iterator[Unfit]:
        """Yield what the script itself undoes of a recovery step, and what does not fit its programs."""
        for check in STEPS:
            yield from check(self._script, step)
