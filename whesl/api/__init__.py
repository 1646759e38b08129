"""What other programs may import of WHESL, and can rely on (docs/api.md).

Functions are here. Beside it are the ports for adapters (modules ``resource_manager``, ``workflow_manager``,
``cloud_provider``, ``failure_predictor`` and ``placement_policy``), and two libraries (``checkpoints`` and
``lab``). Importing one of them loads nothing else of WHESL. A name that is neither here, nor in one of these,
nor in ``whesl`` or ``whesl.testing.contracts``, is private and may change with any release.

A deprecated name warns (DeprecationWarning) and works for two more minor releases.
"""

from __future__ import annotations

from whesl.api.lazy_names_and_deprecation import lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path
    from typing import Any

    from whesl.client.external_exceptions import RaisedOn as RaisedOn
    from whesl.client.external_exceptions import Told as Told
    from whesl.client.external_exceptions import predict_failure as predict_failure
    from whesl.client.external_exceptions import raise_exception as raise_exception
    from whesl.client.external_exceptions import wait_until_taken as wait_until_taken
    from whesl.client.run_in_process import Finished as Finished
    from whesl.language.diagnostics import Diagnostic as Diagnostic
    from whesl.language.diagnostics import Severity as Severity
    from whesl.language.spec import Level as Level
    from whesl.language.tools.sentences import Explained as Explained
    from whesl.language.tools.sentences import Sentence as Sentence
    from whesl.model.errors import CouldNotObserveError as CouldNotObserveError
    from whesl.model.errors import RefusedError as RefusedError
    from whesl.model.errors import TransientError as TransientError
    from whesl.model.errors import UsageError as UsageError
    from whesl.model.errors import WheslError as WheslError
    from whesl.model.evidence import Advice as Advice
    from whesl.model.evidence import Cause as Cause
    from whesl.model.evidence import CauseClass as CauseClass
    from whesl.model.evidence import LastLines as LastLines
    from whesl.model.evidence import PredictedFailure as PredictedFailure
    from whesl.model.recovery_criterion import Reach as Reach
    from whesl.model.workflow import BadNode as BadNode
    from whesl.model.workflow import Grade as Grade
    from whesl.report.exception_row import ExceptionRow as ExceptionRow
    from whesl.report.handover_record import HandedOver as HandedOver
    from whesl.report.report_records import Assumptions as Assumptions
    from whesl.report.report_records import Group as Group
    from whesl.report.report_records import Report as Report
    from whesl.report.report_records import Run as Run
    from whesl.report.report_records import RunAgain as RunAgain
    from whesl.report.report_records import TaskRow as TaskRow
    from whesl.report.report_records import Totals as Totals
    from whesl.runtime.detect.detection_on_old_logs import Occurrence as Occurrence
    from whesl.runtime.detect.detection_on_old_logs import Rehearsed as Rehearsed
    from whesl.runtime.detect.detection_on_old_logs import SignOfLife as SignOfLife
    from whesl.runtime.diagnose.diagnosis_records import Candidate as Candidate
    from whesl.runtime.diagnose.diagnosis_records import Diagnosis as Diagnosis
    from whesl.runtime.diagnose.diagnosis_records import Entry as Entry
    from whesl.runtime.diagnose.diagnosis_records import Finding as Finding
    from whesl.runtime.diagnose.vocabulary import Outcome as Outcome
    from whesl.runtime.diagnose.vocabulary import Role as Role


def check(rules: str | Path, *, workflow: str | Path | None = None) -> tuple[Diagnostic, ...]:
    """Find everything that is wrong with a file of rules, as ``whesl check`` does for the text alone.

    Whether paths, handlers and variables exist on this host is looked for by the command only.

    Args:
        rules: the file, or ``default`` for the policy that ships.
        workflow: a study, a batch script or another workflow's file; it has to have the jobs of the rules.

    Returns:
        The findings by position: errors, which keep the rules from being used, and warnings. Empty: correct.

    Raises:
        UsageError: a file cannot be read, or ``workflow`` is none.
    """
    from whesl import language
    from whesl.language import shipped_policy

    place = shipped_policy.place(str(rules))
    return language.parse(language.read_file(place), place, _workflow(workflow)).diagnostics


def check_text(text: str | bytes, *, file: str = "rules.esl") -> tuple[Diagnostic, ...]:
    """Find everything that is wrong with rules that are in no file.

    Args:
        text: the rules; bytes are UTF-8. Any content is allowed, and nothing is raised for it.
        file: the name that findings give the text; what the rules include is looked for in its directory.

    Returns:
        As ``check``.
    """
    from whesl import language

    return language.parse(text, file).diagnostics


def explain(rules: str | Path, *, workflow: str | Path | None = None) -> tuple[Explained, ...]:
    """Say in sentences what rules watch for and what they do, as ``whesl explain`` does.

    Args:
        rules: the file, or ``default`` for the policy that ships.
        workflow: as for ``check``.

    Returns:
        One record for each exception, in the order of the rules.

    Raises:
        UsageError: a file cannot be read, or ``workflow`` is none.
        WheslError: the rules have errors; the message lists all of them.
    """
    from whesl import language
    from whesl.language import shipped_policy
    from whesl.language.tools import sentences

    return sentences.explain(language.load(shipped_policy.place(str(rules)), _workflow(workflow)))


def rehearse(rules: str | Path, *logs: str | Path, status: int | None = None) -> Rehearsed:
    """Say what rules would have raised on logs that are there, as ``whesl explain --log`` does.

    A log has no clock: timers (HANG, SILENCE, PROGRESS) are not judged, and ``WITHIN`` counts as kept.

    Args:
        rules: the file, or ``default`` for the policy that ships. Each exception is tried, of whatever job.
        logs: files with a job's standard output and standard error, also packed.
        status: the job's exit status as a shell gives it, 0 to 255; None where it is not known.

    Returns:
        Each occurrence with its file and line, and how often each exception was raised.

    Raises:
        UsageError: a file cannot be read.
        WheslError: the rules have errors.
    """
    import msgspec

    from whesl import language
    from whesl.language import shipped_policy
    from whesl.language.pattern_and_stream_records import Source, Stream
    from whesl.model.workflow import Task
    from whesl.runtime.diagnose.diagnosing import rehearsed

    spec = language.load(shipped_policy.place(str(rules))).for_any_job()
    streams = [Source(stream=stream) for stream in (Stream.STDOUT, Stream.STDERR, Stream.OUTPUT)]
    task = Task(id="rehearse/job", step="job")
    return rehearsed(spec, task, {str(log): streams for log in logs}, status)


def why(
    *logs: str | Path,
    good: Sequence[str | Path] = (),
    system_logs: Sequence[str | Path] = (),
    unread: Callable[[str], None] | None = None,
) -> Diagnosis:
    """Say what a job died of, from its logs alone, as ``whesl why`` does.

    Args:
        logs: files, also packed; directories, which stand for the logs in them; ids of jobs of Slurm, PBS or
            Flux; names of tasks of WHESL's.
        good: logs of the same work that ended well: what they have, too, is not called unusual.
        system_logs: the kernel's or the site's logs of the job's nodes.
        unread: called with a sentence for each log that could not be read, or not to its end.

    Returns:
        How the job ended, the line of its cause where that is known, what followed from it, what would help.

    Raises:
        UsageError: nothing was named, or something that is neither a log nor a job, or no file can be read.
    """
    import tempfile
    from pathlib import Path

    from whesl.client.job_logs import logs_of
    from whesl.model.errors import UsageError
    from whesl.runtime.diagnose.diagnosing import diagnose_files

    if not logs:
        raise UsageError(
            "no log was named", hint="a file, a directory, the id of a job or the name of a task"
        )
    said = unread if unread is not None else _ignored
    with tempfile.TemporaryDirectory(prefix="whesl-why-") as kept:
        files, accounting = logs_of([str(log) for log in logs], Path(kept), said)
        return diagnose_files([*files, *map(str, system_logs)], accounting, [*map(str, good)], said)


def rule_for(diagnosis: Diagnosis) -> str:
    """Return the rule that would have handled a failure, as text to paste into a file of rules.

    Args:
        diagnosis: as ``why`` returned it.

    Returns:
        A specification; "" where no cause is known.
    """
    from whesl.runtime.diagnose.rule import rule

    return rule(diagnosis.cause.finding, diagnosis.advice) if diagnosis.cause is not None else ""


def run(
    *sources: str | Path,
    rules: str | Path,
    arguments: Sequence[str] = (),
    observe: bool = False,
    rjms: str = "",
    out: str | Path = "",
    spares: int = 1,
    options: Sequence[str] = (),
    progress: Callable[[str], None] | None = None,
) -> Finished:
    """Run a workflow under its own manager, every task protected, as ``whesl run`` does; wait for its end.

    It runs in a process of its own: the caller's signals and environment stay as they are. A workflow whose
    caller is ended goes on to be watched by its coordinator.

    Args:
        sources: a Maestro study, or one or several batch scripts, or another workflow's file.
        rules: the file of rules, or ``default`` for the policy that ships.
        arguments: for the workflow manager.
        observe: report what would be done, and touch nothing.
        rjms: the resource manager; "" for the one that is here.
        out: the directory of the run; "" for the workflow manager's choice.
        spares: spare nodes for each job whose recovery may take one.
        options: further options of ``whesl run``, one word each, such as ``--nodes=4``.
        progress: called with each line that ``whesl run`` says meanwhile.

    Returns:
        The workflow manager's exit status, and the report.

    Raises:
        UsageError: something of the call, the workflow or the rules is wrong; nothing was started.
        WheslError: it ended without a report.
    """
    from whesl.client.run_in_process import finished

    words = ["--rules", str(rules), "--spares", str(spares), *(["--observe"] if observe else [])]
    words += ["--rjms", rjms] if rjms else []
    words += ["--out", str(out)] if str(out) else []
    named = [str(source) for source in sources]
    return finished(
        [*words, *options, *named, *(["--", *arguments] if arguments else [])], progress or _ignored
    )


def report(
    workflow: str = "", *, home: Path | None = None, queue_wait: float | None = None, poll: float = 60.0
) -> Report:
    """Sum up a workflow: what was raised, why, what was done about it, what that saved. Reads journals alone.

    Args:
        workflow: its name or the beginning of it; "" for the newest. ``exec`` are commands of ``whesl exec``.
        home: the WHESL home; None for that of ``WHESL_HOME``.
        queue_wait: seconds that a resubmitted job would wait; None for the mean of the measured waits.
        poll: seconds that the workflow manager takes to see that a job has failed.

    Returns:
        The report, a copy of what is recorded at this moment.

    Raises:
        UsageError: there is no such workflow, or several begin so.
        HomeError: the home is not private to the user.
    """
    from whesl.report.collection import gather, gather_fitting, latest
    from whesl.report.report_builder import summarise
    from whesl.runtime.wire import keys

    place = home or keys.home()
    found = gather_fitting(place, workflow) if workflow else gather(place, latest(place))
    return summarise(found, queue_wait=queue_wait, poll_interval=poll)


def _workflow(file: str | Path | None) -> Any:
    from whesl.managers.workflow import verified

    return verified(file) if file is not None else None


def _ignored(text: str) -> None:
    """Nobody asked for what is said on the way."""


if not TYPE_CHECKING:  # for type checkers a misspelled name stays an error
    __getattr__, __dir__ = lazily(__name__)
