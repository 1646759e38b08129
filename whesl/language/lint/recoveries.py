"""Checks of exceptions with their recovery: what is written twice, what helps nothing, odd arguments."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations, pairwise
from typing import Any

import msgspec

from whesl.language.compiler import syntax
from whesl.language.diagnostics import Findings
from whesl.language.lint import notations
from whesl.language.lint.notations import Where
from whesl.language.lint.statements import Done, Watched, value_range
from whesl.language.pattern_and_stream_records import Span
from whesl.language.spec import ExceptionSpec, Operation, ResourceKind

_NOWHERE = Span(line=0, column=0, end_line=0, end_column=0)
_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "/bin/sh", "/bin/bash"})
_MANAGED = re.compile(
    r"(?:SLURM|PBS|FLUX)_(?:JOB|STEP|NODE|NNODES|PROC|TASK)"
)  # variables that steps rely on
_EXCLUSIVE = frozenset({Operation.REPLACE, Operation.REMOVE})


def check(
    findings: Findings,
    watched: Sequence[Watched],
    done: Sequence[Done],
    exceptions: Mapping[str, ExceptionSpec],
) -> None:
    """Find detections and steps that are written twice, recoveries that help nothing, odd arguments of steps.

    Args:
        findings: the collection that warnings are added to.
        watched: all detections of the watched exceptions.
        done: all recovery steps.
        exceptions: the watched exceptions, by name.
    """
    seen: set[tuple[str, object]] = set()
    for each in watched:
        if not each.own:
            continue
        same = each.exception.name, msgspec.structs.replace(each.detection, span=_NOWHERE)
        if same in seen:
            message = "this detection is written twice"
            findings.warn("ESL093", message, each.statement.exception, "leave it out")
        seen.add(same)
        form = each.statement.form
        if form.kind == "predicted" and form.texts:
            notations.report(findings, syntax.unquote(form.texts[0]), Where.NODE, form.texts[0])
        vain = each.detection.in_vain()
        if vain is not None and each.in_vain(over=vain.over):
            findings.warn("ESL048", vain.reason, each.statement.exception, vain.hint)
        types = [syntax.unquote(word) for word in form.texts if each.detection.hears_manager]
        if each.exception.raises is not None and each.exception.raises.exception_type in types:
            hint = "give RAISE a type of its own"
            findings.warn("ESL095", "what RAISE has raised is not detected again", form.texts[0], hint)
    predicted = {
        each.exception.name for each in watched if each.statement.form.kind in ("predicted", "external")
    }
    by_name: dict[str, list[Done]] = {}
    for step in done:
        by_name.setdefault(step.statement.exception.text, []).append(step)
    for name, steps in by_name.items():
        if name in exceptions:
            _order(findings, exceptions[name], steps, name in predicted)
        for step in steps:
            _arguments(findings, step, exceptions.get(name))


def _order(findings: Findings, exception: ExceptionSpec, steps: Sequence[Done], predicted: bool) -> None:
    """Find steps that undo or repeat each other, and steps for a program that has ended."""
    for first, second in combinations(steps, 2):
        one, other = first.step, second.step
        if (one.entity, one.resource) != (other.entity, other.resource):
            continue
        same = one.arguments == other.arguments
        of_files = one.resource == ResourceKind.FILESYSTEM
        if one.operation == other.operation:
            once = (
                one.operation == Operation.REPLACE and not of_files and {*one.arguments} & {*other.arguments}
            )
            if same or once:
                message = "a step before does the same, or what this one overwrites"
                findings.warn("ESL093", message, second.statement.operation, "leave one of them out")
                return
        elif same if of_files else {one.operation, other.operation} <= _EXCLUSIVE:
            message = "a step before has done the opposite, or given up what this one is about"
            findings.warn("ESL095", message, second.statement.operation, "leave one of them out")
            return
    ended = bool(exception.detections) and all(each.of_ends for each in exception.detections)
    for each in steps:
        if each.step.before_failure and not predicted:
            message = "nothing here is raised before a failure"
            hint = "leave BEFORE FAILURE out, or add EXCEPTION DETECTION ... PREDICTED"
            assert each.statement.before is not None
            findings.warn("ESL095", message, each.statement.before, hint)
        if ended and each.step.operation == Operation.CHECKPOINT:
            message = "the program has ended when this is raised: it can write no checkpoint"
            findings.warn("ESL095", message, each.statement.operation, "leave JOB.CHECKPOINT out")


def _arguments(findings: Findings, done: Done, exception: ExceptionSpec | None) -> None:
    """Find arguments of a step that a shell would read, and those that cannot be meant."""
    given, written = done.step.arguments, done.statement.arguments
    if written is None or done.step.resource not in (ResourceKind.JOB, ResourceKind.NODE):
        return
    for text, where in _texts(given):
        notations.report(findings, text, where, value_range(written, text))
    for code, odd, message, hint in _ODD:
        for text in odd(given)[:1]:
            findings.warn(code, message.format(text), value_range(written, text), hint)
    if many := _many_attempts(given, exception):
        hint = f"declare the exception with LIMIT {len(_attempts(given))}"
        findings.warn("ESL084", many, value_range(written, "attempts"), hint)


def _texts(given: Mapping[str, Any]) -> Iterator[tuple[str, Where]]:
    """Yield the texts of a step's arguments that are no paths, and the kind of each."""
    for entry in (given, *_attempts(given)):
        for name in ("command", "command_append"):
            words = _words(entry, name)
            line = " ".join(words)
            if words and line.split(" ")[0] not in _SHELLS:
                yield line, Where.COMMAND
        for value in _environment(entry).values():
            yield value, Where.VALUE
        if isinstance(entry.get("node"), str):
            yield entry["node"], Where.NODE


def _many_attempts(given: Mapping[str, Any], exception: ExceptionSpec | None) -> str:
    """Return a sentence on objects of ``attempts`` that no recovery is left for, "" for none."""
    many = len(_attempts(given))
    if exception is None or exception.without_progress or exception.limit_within is not None:
        return ""
    return (
        f"attempts has {many} objects; {exception.limit} recoveries are allowed"
        if many > exception.limit
        else ""
    )


def _words(given: Mapping[str, Any], name: str = "command") -> list[str]:
    command = given.get(name)
    return (
        [command] if isinstance(command, str) else [*map(str, command)] if isinstance(command, list) else []
    )


def _environment(given: Mapping[str, Any]) -> dict[str, str]:
    environment = given.get("environment")
    return environment if isinstance(environment, dict) else {}


def _attempts(given: Mapping[str, Any]) -> list[dict[str, Any]]:
    value = given.get("attempts")
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _in_all_attempts(given: Mapping[str, Any]) -> list[str]:
    attempts = _attempts(given)
    return [name for name in given if attempts and all(name in each for each in attempts)]


def _one_word(given: Mapping[str, Any]) -> list[str]:
    command = given.get("command")
    return [
        word
        for word in _words(given)
        if isinstance(command, list) and len(command) == 1 and " " in word.strip()
    ]


def _cut_short(given: Mapping[str, Any]) -> list[str]:
    words = _words(given)
    return words[2:3] if words[:1] and words[0] in _SHELLS and words[1:2] == ["-c"] and words[3:] else []


# Arguments that cannot be meant: code, the texts of the arguments that are so, sentence, and what to write.
_ODD: tuple[tuple[str, Callable[[Mapping[str, Any]], list[str]], str, str], ...] = (
    (
        "ESL092",
        _one_word,
        "{!r} is one word: a program with blanks in its name",
        "write each word in quotes of its own",
    ),
    (
        "ESL092",
        lambda given: [text for text in _cut_short(given) if "$" not in text],
        "the shell takes {!r} for the whole command",
        "write the whole command as one text behind -c",
    ),
    (
        "ESL095",
        lambda given: [node for node in [given.get("node")] if isinstance(node, str) and "${" not in node],
        "{!r} is given up at every recovery, whichever node has failed",
        "leave node out: the suspect is found from the evidence",
    ),
    (
        "ESL095",
        lambda given: [name for name in ("PATH", "HOME") if _environment(given).get(name) == ""],
        "an empty text removes {}: hardly a program starts without it",
        "write its new value",
    ),
    (
        "ESL095",
        lambda given: [name for name in _environment(given) if _MANAGED.match(name)],
        "the resource manager sets {}: steps that rely on it fail",
        "leave it out",
    ),
    (
        "ESL091",
        lambda given: [text for text in [given.get("trigger")] if isinstance(text, str) and "*" in text],
        "one file is made: the * of {!r} is taken as it stands",
        "write the whole name",
    ),
    (
        "ESL095",
        lambda given: [text for text in [given.get("trigger")] if text and text == given.get("written")],
        "{!r} asks for a checkpoint: it is no sign that one was written",
        "written: the files of the checkpoint itself",
    ),
    (
        "ESL093",
        lambda given: (
            ["attempts"] if (a := _attempts(given)) == [{}] or any(x == y for x, y in pairwise(a)) else []
        ),
        "an object of {} has nothing alone, or what the one before has",
        "leave it out: the last object stays for all later recoveries",
    ),
    (
        "ESL093",
        _in_all_attempts,
        "each object of attempts has its own {}: this one is never used",
        "leave it out",
    ),
)
