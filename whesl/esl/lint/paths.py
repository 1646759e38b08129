"""Paths that cannot be meant: files that several jobs write, file systems that are replaced by themselves."""

from __future__ import annotations

from collections.abc import Sequence

from whesl.esl.detections.base import Stream
from whesl.esl.diagnostics import Findings, Range, Severity
from whesl.esl.language import syntax
from whesl.esl.language.syntax import Word
from whesl.esl.lint.statements import Done, Watched
from whesl.esl.spec import Operation, ResourceKind

_OF_A_JOB = ("$SLURM_", "${SLURM_", "$WHESL_", "${WHESL_", "$FLUX_", "${FLUX_")
_WILD = frozenset("*?[")


def check(findings: Findings, watched: Sequence[Watched], done: Sequence[Done]) -> None:
    """Find such paths.

    Args:
        findings: what is found is added here.
        watched: all detections of what is watched.
        done: all recovery steps.
    """
    for each in watched:
        if each.own:
            _shared_file(findings, each)
    for step in done:
        _replaced_by_itself(findings, step)


def _shared_file(findings: Findings, watched: Watched) -> None:
    source = watched.statement.form.source
    if source is None or source.stream is not Stream.FILE or source.path is None:
        return
    path = syntax.unquote(source.path)
    jobs = watched.exception.jobs
    several = len(jobs) > 1 or bool(_WILD & set(jobs[0]))
    if several and path.startswith(("/", "~", "$")) and not any(name in path for name in _OF_A_JOB):
        findings.add(
            "ESL082",
            "one file for several jobs: what one of them writes is judged as a line of each",
            source.path,
            severity=Severity.WARNING,
            hint="write a path that is relative to each job's directory, or one with $SLURM_JOB_ID",
        )


def _replaced_by_itself(findings: Findings, done: Done) -> None:
    step = done.step
    if (step.resource, step.operation) != (ResourceKind.FILESYSTEM, Operation.REPLACE):
        return
    new, old = step.arguments.get("filesystem"), step.arguments.get("defaultpath")
    roots = [new] if isinstance(new, str) else new if isinstance(new, list) else []
    if not isinstance(old, str) or done.statement.arguments is None:
        return
    for root in roots:
        one, other = _parts(str(root)), _parts(old)
        if one[: len(other)] != other and other[: len(one)] != one:
            continue
        what = "the same" if one == other else "one below the other"
        findings.add(
            "ESL079",
            f"'filesystem' and 'defaultpath' are {what}: a full file system is replaced by itself",
            _value(done.statement.arguments, str(root)),
            severity=Severity.WARNING,
            hint="filesystem: a directory on another file system, which has room",
        )
        return


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part not in ("", ".")]


def _value(arguments: Word, value: str) -> Range:
    """Return where a text of the arguments stands; all of them when it is written in another way."""
    at = arguments.text.find(f'"{value}"')
    if at < 0:
        return Range(arguments.start, arguments.end)
    return Range(arguments.start + at, arguments.start + at + len(value) + 2)
