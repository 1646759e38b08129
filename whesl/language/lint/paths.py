"""Checks for paths with an unintended meaning: one file for several jobs, other notations, no replacement."""

from __future__ import annotations

import re
from collections.abc import Sequence

from whesl.language.compiler import syntax
from whesl.language.diagnostics import Findings
from whesl.language.lint import notations
from whesl.language.lint.notations import Where
from whesl.language.lint.statements import Done, Watched, value_range
from whesl.language.path_expansion import path_arguments
from whesl.language.pattern_and_stream_records import Stream
from whesl.language.spec import Operation, ResourceKind
from whesl.model.workflow import Workflow

_OF_A_JOB = ("$SLURM_", "${SLURM_", "$WHESL_", "${WHESL_", "$FLUX_", "${FLUX_")
_WILD = frozenset("*?[")
# Globs of all files of a directory that also holds other files.
_EVERY = re.compile(r"(?:(?:\.\.?|~|/tmp|\$\w+|\$\{\w+\})/+)*[*?.]*[*?][*?.]*")


def check(
    findings: Findings, watched: Sequence[Watched], done: Sequence[Done], workflow: Workflow | None
) -> None:
    """Find paths of detections and recovery steps with an unintended meaning.

    Args:
        findings: the collection that warnings are added to.
        watched: all detections of the watched exceptions.
        done: all recovery steps.
        workflow: the workflow of the jobs, None when it is not known.
    """
    for each in watched:
        if each.own:
            if workflow is None or workflow.wms != "batch" or len(workflow.tasks) > 1:
                _shared_file(findings, each)
            _not_expanded(findings, each)
    for step in done:
        _replaced_by_itself(findings, step)
        _arguments(findings, step)


def _shared_file(findings: Findings, watched: Watched) -> None:
    source = watched.statement.form.source
    if source is None or source.stream is not Stream.FILE or source.path is None:
        return
    path = syntax.unquote(source.path)
    jobs = watched.exception.jobs
    several = len(jobs) > 1 or bool(_WILD & set(jobs[0]))
    if several and path.startswith(("/", "~", "$")) and not any(name in path for name in _OF_A_JOB):
        findings.warn(
            "ESL082",
            "one file for several jobs: what one of them writes is judged as a line of each",
            source.path,
            hint="write a path that is relative to each job's directory, or one with $SLURM_JOB_ID",
        )


def _not_expanded(findings: Findings, watched: Watched) -> None:
    """Find paths with notations that are not expanded, and files without lines of text."""
    form = watched.statement.form
    named: list[str] = []
    watched.detection.with_paths(lambda path: named.append(path) or path)  # type: ignore[func-returns-value]  # each
    words = [*form.texts, *([form.source.path] if form.source is not None and form.source.path else [])]
    for word in words:
        path = syntax.unquote(word)
        read = form.source is not None and word is form.source.path
        if path not in named:
            continue
        kinds = (Where.FILE, Where.NO_LINES) if read else (Where.FILE,)
        if watched.detection.measured() is not None:
            kinds = (Where.SPACE, Where.PATH)
        reported = any(notations.report(findings, path, kind, word) for kind in kinds)
        if not reported and read and _EVERY.fullmatch(path):
            message = f"{path!r} is every file of the directory, data and what others write there, too"
            hint = "write a part of the name that only the log has, as in *.log"
            findings.warn("ESL091", message, word, hint)
    promise = watched.detection.promised()
    if promise is not None and promise.than == promise.path:
        message = "no file is older than itself: this is never raised"
        findings.warn("ESL091", message, form.texts[1], "name the files that it is made of")


def _arguments(findings: Findings, done: Done) -> None:
    step, written = done.step, done.statement.arguments
    for name in path_arguments(step.resource, step.operation) if written is not None else ():
        value = step.arguments.get(name)
        for path in value if isinstance(value, list) else [value]:
            if isinstance(path, str) and written is not None:
                space = step.resource == ResourceKind.FILESYSTEM
                for where in (Where.PATH, *([Where.SPACE] if space else ())):
                    if notations.report(findings, path, where, value_range(written, path)):
                        break


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
        findings.warn(
            "ESL079",
            f"'filesystem' and 'defaultpath' are {what}: a full file system is replaced by itself",
            value_range(done.statement.arguments, str(root)),
            hint="filesystem: a directory on another file system, which has room",
        )
        return


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part not in ("", ".")]
