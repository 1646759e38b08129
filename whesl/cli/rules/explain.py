"""``whesl explain``: a specification in sentences, and the exceptions it would have raised on a log."""

from __future__ import annotations

import contextlib
import textwrap
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from whesl import language
from whesl.cli.options import RULES
from whesl.cli.parameters import argument, option, parameters
from whesl.cli.rules.check import read_workflow
from whesl.language.pattern_and_stream_records import Source, Stream
from whesl.language.spec import Spec
from whesl.model.errors import UsageError
from whesl.model.workflow import Task, Workflow, job_matches

if TYPE_CHECKING:
    from whesl.language.tools.sentences import Explained
    from whesl.runtime.detect.detection_on_old_logs import Rehearsed

_FILE = click.Path(path_type=Path)
_WIDTH = 100
_SHOWN_TASKS = 6
_SHOWN = 5  # greatest number of printed occurrences of an exception
_LONGEST = 160  # printed characters of a log's line
_UNWATCHED = "nothing is watched: an included exception is when a recovery step or a declaration names it"
_OUTPUT = Source(stream=Stream.OUTPUT)
_STREAMS = {
    "stdout": (Source(stream=Stream.STDOUT), _OUTPUT),
    "stderr": (Source(stream=Stream.STDERR), _OUTPUT),
    "output": (Source(stream=Stream.STDOUT), Source(stream=Stream.STDERR), _OUTPUT),
}


@click.command()
@parameters
def explain(
    *,
    rules: Path | None = argument(required=False, type=RULES),
    named: Path | None = option(None, "RULES; default: those that ship.", "RULES", "-e --rules", type=RULES),
    study: Path | None = option(
        None, "Say which of its tasks are watched.", "STUDY", "--workflow", type=_FILE
    ),
    logs: tuple[str, ...] = option(
        (),
        "Say what would have been raised on this log. SOURCE: stdout, stderr or the path of a file source; "
        "without it the log has both outputs, as a batch job's has.",
        "[SOURCE=]FILE",
        "--log",
    ),
    job: str = option("", "Whose log it is; without it every exception is tried.", "NAME"),
    status: int | None = option(None, "The exit status that the job ended with.", "N", least=0, most=255),
    everything: bool = option(False, f"Print every occurrence, not the first {_SHOWN}.", names="--all"),
    as_json: bool = option(False, "Print one JSON object.", names="--json"),
) -> int:
    """Say in sentences what RULES watch for and what they do, and rehearse them on a log.

    \b
    whesl explain -e default
    whesl explain rules.esl --workflow study.yaml
    whesl explain rules.esl --log slurm-1234.out
    whesl explain rules.esl --log stdout=job.out --log stderr=job.err --job a
    zstd -dc old.log.zst | whesl explain rules.esl --log -

    A log has no clock: HANG, SILENCE and PROGRESS cannot be judged, and WITHIN counts as kept.
    """
    from whesl.language.tools import sentences

    workflow = read_workflow(study) if study is not None else None
    rules = rules or named
    if rules is None:
        raise UsageError("RULES are missing", hint="whesl explain rules.esl, or whesl explain -e default")
    spec = language.load(rules, workflow)
    explained = sentences.explain(spec)
    if not logs and (status is not None or job):
        raise UsageError("--job and --status are about a log", hint="give it with --log FILE")
    rehearsed = _rehearse(spec, _task(spec, workflow, job), logs, status, bool(job)) if logs else None
    if as_json:
        click.echo(
            msgspec.json.format(msgspec.json.encode(_json(spec, explained, workflow, rehearsed)), indent=2)
        )
        return 0
    if rehearsed is None:
        click.echo("\n".join(_text(spec, explained, workflow)))
    else:
        click.echo(
            "\n".join(_dry_run(spec, rehearsed, _SHOWN if not everything else len(rehearsed.occurrences)))
        )
    return 0


# In sentences -------------------------------------------------------------------------------------


def _text(spec: Spec, explained: Sequence[Explained], workflow: Workflow | None) -> Iterator[str]:
    count = len(explained)
    yield f"{spec.file}: {count} exception{'s' if count != 1 else ''}"
    if not count:
        yield _UNWATCHED
    for item in explained:
        yield ""
        yield f"{item.name}  ({item.level.value}, {item.place})"
        yield from _wrapped("  Watched for: ", _watched(item, workflow))
        yield "  It is raised when" + (" one of these happens:" if len(item.when) > 1 else ":")
        for said in item.when:
            yield from _wrapped("    - ", f"{said.text}{_from(spec, said.place)}")
        if not item.when:
            yield "    - another exception ends in it (ELSE ESCALATE)"
        if item.then:
            yield from _wrapped("  Then, ", f"{item.budget}:")
            for number, said in enumerate(item.then, 1):
                yield from _wrapped(f"    {number}. ", said.text)
            skipped = any(".REMOVE: the task is skipped" in said.text for said in item.then)
            if item.restarts and not skipped:
                yield f"    {len(item.then) + 1}. the task is restarted in its allocation"
            yield from _wrapped("  After that, or when it cannot be done: ", f"{item.otherwise}.")
        else:
            yield from _wrapped("  Nothing is done about it: ", f"{item.otherwise}.")
        if item.told:
            yield from _wrapped("  Each time, ", f"{item.told}.")


def _watched(item: Explained, workflow: Workflow | None) -> str:
    from whesl.language.tools.sentences import matching

    if workflow is None:
        return matching(item.jobs)
    names = _covered(item, workflow)
    shown = ", ".join(names[:_SHOWN_TASKS]) + (" ..." if len(names) > _SHOWN_TASKS else "")
    return f"{len(names)} of {len(workflow.tasks)} tasks{': ' if names else ''}{shown}"


def _covered(item: Explained, workflow: Workflow) -> list[str]:
    return [task.name for task in workflow.tasks if job_matches(item.jobs, task.step, task.name)]


def _from(spec: Spec, place: str) -> str:
    """Return the place of a sentence's statement if it is in an included file, else an empty string."""
    file, _, line = place.rpartition(":")
    return "" if file == spec.file else f"  [{file}:{line}]"


def _wrapped(lead: str, text: str) -> list[str]:
    return textwrap.wrap(
        text,
        _WIDTH,
        initial_indent=lead,
        subsequent_indent=" " * min(len(lead), 8),
        break_long_words=False,
        break_on_hyphens=False,
    )


# On a log -----------------------------------------------------------------------------------------


def _task(spec: Spec, workflow: Workflow | None, job: str) -> Task:
    """Return the task that the log belongs to."""
    if workflow is None or not job:
        return Task(id=f"explain/{job or 'job'}", step=job or "job")
    found = next((task for task in workflow.tasks if job in (task.name, task.step)), None)
    if found is None:
        known = ", ".join(task.name for task in workflow.tasks[:_SHOWN_TASKS])
        raise UsageError(f"the workflow {workflow.name} has no job {job}", hint=f"it has {known}")
    return found


def _rehearse(spec: Spec, task: Task, logs: Sequence[str], status: int | None, named: bool) -> Rehearsed:
    from whesl.runtime.diagnose.diagnosing import rehearsed

    if not named:
        spec = spec.for_any_job()
    files = _files(spec, logs)
    with _progress(sum(Path(path).stat().st_size for path in files)) as tell:
        return rehearsed(spec, task, files, status, tell)


def _files(spec: Spec, logs: Sequence[str]) -> dict[str, list[Source]]:
    """Return the sources that each log stands for, by the log's path."""
    known = {source.path: source for source in _sources(spec) if source.path is not None}
    found: dict[str, list[Source]] = {}
    for log in logs:
        name, equals, path = log.partition("=")
        sources: tuple[Source, ...] = ()
        if equals:
            sources = _STREAMS.get(name) or ((known[name],) if name in known else ())
        if not sources:
            path, sources = log, _STREAMS["output"]
        if path == "-":
            path = "/dev/stdin"
        if not Path(path).exists() or Path(path).is_dir():
            names = ", ".join([*_STREAMS, *known])
            raise UsageError(
                f"there is no log {path}",
                hint=f"--log FILE, or --log SOURCE=FILE where SOURCE is one of {names}",
            )
        found.setdefault(path, []).extend(sources)
    return found


def _sources(spec: Spec) -> Iterator[Source]:
    for exception in spec.exceptions:
        for detection in exception.detections:
            if (reads := detection.reads()) is not None:
                yield reads.source


@contextlib.contextmanager
def _progress(total: int) -> Iterator[Callable[[int], None]]:
    """Yield a function that shows, on a terminal and for long logs, how much was read."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    console = Console(stderr=True)
    if not console.is_terminal or total < 1 << 26:
        yield lambda _: None
        return
    columns = (TextColumn("reading"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        work = bar.add_task("reading", total=total)
        yield lambda done: bar.update(work, completed=done)


def _dry_run(spec: Spec, rehearsed: Rehearsed, most: int) -> Iterator[str]:
    from whesl.language.wording import times

    yield f"{spec.file}, on {_counted(rehearsed.lines, 'line')} ({_counted(rehearsed.bytes, 'byte')})"
    if not spec.exceptions:
        yield _UNWATCHED
    elif not rehearsed.counts:
        yield "nothing would have been raised"
    for name, count in rehearsed.counts.items():
        yield ""
        yield f"{name} would have been raised {times(count)}:"
        shown = 0
        for item in rehearsed.occurrences:
            if item.exception != name or shown >= most:
                continue
            shown += 1
            byte = f" (byte {item.offset})" if item.offset >= 0 else ", at the end"
            where = f"{item.file}:{item.line}{byte}" if item.line > 0 else "at the end"
            via = f" [{item.detail}]" if item.detail else ""
            after = f" after {item.evidence} lines" if item.evidence > 1 else ""
            yield f"  {where}{after}{via}: {_printable(item.text)}"
        if count > shown:
            yield f"  ... and {count - shown} more"
    left = _unjudged(spec, rehearsed)
    if left:
        yield ""
        yield "A log alone cannot tell:"
        for note in left:
            yield from _wrapped("  - ", note)


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _unjudged(spec: Spec, rehearsed: Rehearsed) -> list[str]:
    """Return sentences on detections that a log without a clock cannot judge, and on their timers."""
    seen = {(sign.exception, sign.pattern): sign for sign in rehearsed.signs_of_life}
    ended = any(item.line < 0 for item in rehearsed.occurrences)
    notes = []
    for exception in spec.exceptions:
        for detection in exception.detections:
            reads = detection.reads() if detection.timed else None
            sign = seen.get((exception.name, reads.patterns[0].text)) if reads is not None else None
            last = (sign.times, sign.last_line) if sign is not None else None
            note = detection.unjudged(last, ended)
            if note:
                notes.append(f"{exception.name}: {note}")
    return list(dict.fromkeys(notes))


def _printable(text: str) -> str:
    cut = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
    return "".join(c if c.isprintable() or c == "\t" else "\N{REPLACEMENT CHARACTER}" for c in cut)


def _json(
    spec: Spec, explained: Sequence[Explained], workflow: Workflow | None, rehearsed: Rehearsed | None
) -> dict[str, Any]:
    exceptions = []
    for item in explained:
        fields = msgspec.to_builtins(item)
        if workflow is not None:
            fields["tasks"] = _covered(item, workflow)
        exceptions.append(fields)
    document: dict[str, Any] = {"file": spec.file, "exceptions": exceptions}
    if rehearsed is not None:
        document["log"] = msgspec.to_builtins(rehearsed)
        document["log"]["not_judged"] = _unjudged(spec, rehearsed)
    return document
