"""Checks of recovery steps: entity, resource, operation, arguments, and the place of JOB.CHECKPOINT."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from whesl.language.compiler import syntax
from whesl.language.compiler.json_arguments import Arguments, read
from whesl.language.compiler.operation_signatures import (
    BUILT_IN_PLACEHOLDERS,
    COMMON,
    Argument,
    ArgumentType,
    arguments_of,
    mebibytes,
    shell_operator,
)
from whesl.language.compiler.quantities import unusual
from whesl.language.compiler.source import Source
from whesl.language.compiler.symbol_table import Declarations
from whesl.language.diagnostics import Findings, Range
from whesl.language.path_expansion import path_arguments
from whesl.language.signals import UNHANDLED, signal_names, signal_number
from whesl.language.spec import OFFERED, Entity, Level, Operation, RecoveryStep, ResourceKind
from whesl.language.wording import one_of

_VARIABLE = re.compile(r"[^\s=$]+")  # a name of a variable of the environment
_CHECKPOINT = (ResourceKind.JOB.value, Operation.CHECKPOINT.value)
_LOSING = frozenset({"NODE.REPLACE", "NODE.REMOVE", "NODE.ADD", "JOB.REPLACE", "JOB.ADD"})


@dataclass(frozen=True, slots=True)
class Captured:
    """Names that the detections of an exception capture: ``ever`` by any of them, ``always`` by all."""

    ever: frozenset[str]
    always: frozenset[str]


class RecoveryCheck:
    """Turns the recovery steps of one file into records; errors are added to the source's findings."""

    def __init__(self, source: Source, declarations: Declarations) -> None:
        self._source = source
        self._findings = source.findings
        self._declarations = declarations
        self._out_of_reach: set[str] = set()  # exceptions already reported to need another type

    def step(
        self, statement: syntax.Recovered, level: Level | None, captured: Captured | None
    ) -> RecoveryStep | None:
        """Return the record of a recovery step, or None when the step is wrong.

        Args:
            statement: the step as it is written.
            level: the type of the step's exception, None when the type is not known.
            captured: the names that detections of the exception capture, None when they are not known.
        """
        entity = self._declarations.entity(statement.entity)
        what = self._declarations.operation(statement.resource, statement.operation)
        name = statement.exception.text
        if level is Level.JOB_LEVEL and entity not in (None, Entity.JOB) and name not in self._out_of_reach:
            self._out_of_reach.add(name)
            self._findings.add(
                "ESL042",
                f"a JOB_LEVEL exception is recovered by JOB alone, not by {statement.entity.text}",
                statement.entity,
                hint="declare the exception WORKFLOW_LEVEL",
            )
        arguments: Arguments | None = Arguments()
        if statement.arguments is not None:
            arguments = read(self._source, statement.arguments)
        if arguments is None:
            return None
        if captured is not None:
            self._placeholders(arguments, captured, what)
        # Only a custom handler knows its arguments; an undeclared operation may be another one misspelled.
        if what is not None and self._declarations.offers(*what):
            if self._declarations.handler(*what) is None:
                self._arguments(statement, what, arguments)
            else:
                self._common_arguments(arguments)
        if entity is None or what is None:
            return None
        if statement.before is not None and what != (ResourceKind.NODE, Operation.REPLACE):
            before = statement.before
            message = f"{what[0]}.{what[1]} cannot be done before a failure"
            self._findings.add("ESL049", message, before, hint="only NODE.REPLACE can; leave it out")
            return None
        offered = OFFERED.get(entity)
        own = self._declarations.offers(*what) and self._declarations.handler(*what) is not None
        if (
            level is not Level.JOB_LEVEL
            and offered is not None
            and not own
            and what not in offered
            and what[1] != Operation.CHECKPOINT
        ):
            self._findings.warn(
                "ESL049",
                f"{entity.value} does not do {what[0]}.{what[1]}",
                statement.operation,
                hint=f"it does {one_of(sorted(f'{r}.{o}' for r, o in offered), 'and')}",
            )
        return RecoveryStep(
            entity=entity,
            resource=what[0],
            operation=what[1],
            arguments=arguments.values,
            before_failure=statement.before is not None,
            span=self._source.span(statement.start, statement.end),
        )

    def _placeholders(self, arguments: Arguments, captured: Captured, what: tuple[str, str] | None) -> None:
        known = (*BUILT_IN_PLACEHOLDERS, *captured.ever)
        built_in = what is not None and self._declarations.handler(*what) is None
        paths = [
            arguments.places[name]
            for name in (path_arguments(*what) if what is not None and built_in else ())
            if name in arguments.places
        ]
        for placeholder in {word.text: word for word in reversed(arguments.placeholders)}.values():
            # Where no node is captured, ${node} is the suspect node, as the author most likely means.
            if placeholder.text in captured.ever - captured.always - {"node"}:
                without = "the step cannot be done, and ELSE applies"
                if placeholder.text in BUILT_IN_PLACEHOLDERS:
                    without = f"the task's own {placeholder.text} is meant; give the group another name"
                self._findings.warn(
                    "ESL075",
                    f"not every detection of the exception captures {placeholder.text[:40]}",
                    placeholder,
                    hint=f"when one that does not raises it, {without}",
                )
            variable = placeholder.text.isupper() and any(a <= placeholder.start < b for a, b in paths)
            if placeholder.text not in known and not variable:
                near = self._findings.nearest(placeholder.text, known)
                self._findings.add(
                    "ESL074",
                    f"no detection of the exception captures {placeholder.text[:40] or 'an empty name'}",
                    placeholder,
                    hint=near
                    or "name a group of the pattern, as in (?P<rank>\\d+); for the characters themselves"
                    " write $${",
                )

    def _common_arguments(self, arguments: Arguments) -> None:
        for argument in COMMON:
            if argument.name in arguments.values:
                self._value(argument, arguments.values[argument.name], *arguments.places[argument.name])

    def _arguments(self, statement: syntax.Recovered, what: tuple[str, str], arguments: Arguments) -> None:
        known = {argument.name: argument for argument in arguments_of(*what)}
        operation = f"{what[0]}.{what[1]}"
        unknown = [name for name in arguments.values if name not in known]
        missing = [a for a in known.values() if a.required and a.name not in arguments.values]
        strange: list[str] = []  # unknown arguments that resemble no known one
        for name in unknown:
            near = self._findings.nearest(name, known)
            if not near:
                strange.append(name)
                continue
            start, end = arguments.names[name]
            message = f"{operation} has no argument {name[:40]!r}"
            self._findings.add("ESL070", message, Range(start, end), hint=near)
        if strange:
            start, end = arguments.names[strange[0]]
            several = "s" if len(strange) > 1 else ""
            shown = " and ".join(repr(name[:40]) for name in strange[:4])
            self._findings.add(
                "ESL070",
                f"{operation} has no argument{several} {shown}",
                Range(start, end),
                hint=f"it needs {one_of([a.name for a in missing], 'and')}"
                if missing
                else f"it has {one_of(sorted(known))}",
            )
        for name in arguments.values:
            if name in known:
                self._value(known[name], arguments.values[name], *arguments.places[name])
        self._by_attempt(known, arguments)
        self._of_new_run(statement, known, arguments)
        # Each unknown argument may be a missing one under a wrong name.
        missing = missing[len(unknown) :]
        if missing and not strange:
            place = statement.arguments or statement.operation
            several = "s" if len(missing) > 1 else ""
            self._findings.add(
                "ESL071",
                f"{operation} needs the argument{several} {one_of([repr(a.name) for a in missing], 'and')}",
                place,
                hint="; ".join(f"{argument.name}: {argument.help}" for argument in missing),
            )

    def _by_attempt(self, known: Mapping[str, Argument], arguments: Arguments) -> None:
        """Check the objects of ``attempts``; a finding points at the whole list."""
        entries = _attempts(arguments) if "attempts" in known else []
        start, end = arguments.places.get("attempts", (0, 0))
        offered = [name for name, argument in known.items() if argument.by_attempt]
        for number, entry in enumerate(entries, 1):
            for name, given in entry.items():
                if name in offered:
                    self._value(known[name], given, start, end, f"attempts[{number}]: ")
                    continue
                self._findings.add(
                    "ESL070",
                    f"attempts[{number}] has no argument {name[:40]!r}",
                    Range(start, end),
                    hint=self._findings.nearest(name, offered) or f"it has {one_of(sorted(offered))}",
                )

    def _of_new_run(
        self, statement: syntax.Recovered, known: Mapping[str, Argument], arguments: Arguments
    ) -> None:
        """Report arguments that a resource manager cannot change for a running job."""
        if statement.entity.text == Entity.SCHEDULER.value:
            return
        entries = _attempts(arguments)
        for argument in (argument for argument in known.values() if argument.new_run):
            name = argument.name
            place = name if name in arguments.values else "attempts"
            if place == name or any(name in entry for entry in entries):
                self._findings.add(
                    "ESL088",
                    f"{name!r} cannot be changed for a job that runs on: only a new run of it gets another",
                    Range(*arguments.places[place]),
                    hint="declare the exception WORKFLOW_LEVEL, and let SCHEDULER do this JOB.REPLACE:"
                    " the job runs again under its own id",
                )

    def _value(self, argument: Argument, value: Any, start: int, end: int, where: str = "") -> None:
        if not _is(argument.type, value):
            self._findings.add(
                "ESL072",
                f"{where}{argument.name!r} takes {argument.type.value}, not {_named(value)}",
                Range(start, end),
                hint=f"{argument.name}: {argument.help}",
            )
            return
        if argument.path and any(_relative(text) for text in ([value] if isinstance(value, str) else value)):
            self._findings.warn(
                "ESL076",
                f"{argument.name!r} takes an absolute path; with this one the step cannot be done",
                Range(start, end),
                hint=f"{argument.name}: {argument.help}",
            )
        if argument.path and isinstance(value, list) and len({*value}) < len(value):
            message = f"{argument.name!r} lists something twice"
            self._findings.warn(
                "ESL093",
                message,
                Range(start, end),
                hint="leave one of the two out",
            )
        problem = _wrong_value(argument, value)
        if problem:
            choices = argument.choices or (signal_names() if argument.type is ArgumentType.SIGNAL else ())
            near = self._findings.nearest(value, choices) if choices else ""
            self._findings.add(
                "ESL073", f"{where}{argument.name!r} {problem}", Range(start, end), hint=near or argument.help
            )
        elif (
            argument.usual
            and (size := _size(value)) is not None
            and (passed := unusual(size, argument.usual))
        ):
            message = f"{where}{argument.name!r} is {passed}: hardly what is meant"
            self._findings.warn("ESL094", message, Range(start, end), hint=argument.help)


def _attempts(arguments: Arguments) -> list[dict[str, Any]]:
    """Return the objects of ``attempts``; an empty list where ``attempts`` is missing or wrong."""
    value = arguments.values.get("attempts")
    return value if isinstance(value, list) and _is(ArgumentType.ATTEMPTS, value) else []


def _is(kind: ArgumentType, value: Any) -> bool:
    """Whether a JSON value has an argument's type."""
    if kind in (ArgumentType.STRING, ArgumentType.SIGNAL):
        return isinstance(value, str)
    if kind is ArgumentType.STRINGS:
        return isinstance(value, str) or (isinstance(value, list) and all(isinstance(v, str) for v in value))
    if kind is ArgumentType.INTEGER:
        return isinstance(value, int) and not isinstance(value, bool)
    if kind is ArgumentType.MEMORY:
        return isinstance(value, str)
    if kind is ArgumentType.ATTEMPTS:
        return isinstance(value, list) and all(isinstance(entry, dict) for entry in value)
    if kind is ArgumentType.NUMBER:
        return isinstance(value, int | float) and not isinstance(value, bool)
    return isinstance(value, dict) and all(isinstance(v, str) for v in value.values())


def _wrong_value(argument: Argument, value: Any) -> str:
    """Return the error of a value that has the right type, or an empty string."""
    if argument.choices and value not in argument.choices:
        return f"is {one_of(argument.choices)}, not {value[:40]!r}"
    if argument.type is ArgumentType.SIGNAL and signal_number(value) is None:
        return f"names no signal: {value[:40]!r}"
    if argument.type is ArgumentType.SIGNAL and signal_number(value) in UNHANDLED:
        return f"is a signal that no program can handle: {value[:40]!r}"
    if argument.type in (ArgumentType.STRING, ArgumentType.STRINGS):
        texts = [value] if isinstance(value, str) else value
        if not texts or not texts[0].strip():
            return "is empty"
        problems = [_wrong_path(text) for text in texts] if argument.path else []
        if argument.command and isinstance(value, str):
            problems = [_wrong_command(value)]
        return next(filter(None, problems), "")
    if argument.type is ArgumentType.MEMORY and mebibytes(value) is None:
        return f"is no size: {value[:40]!r}"
    if argument.type is ArgumentType.ATTEMPTS and not value:
        return "is empty"
    if argument.type is ArgumentType.ENVIRONMENT and any(not _VARIABLE.fullmatch(name) for name in value):
        return "has a name of a variable that is empty or contains '=', '$' or a blank"
    low = argument.minimum
    if low is not None and (value < low or (argument.above and value == low)):
        return f"is {'above' if argument.above else 'at least'} {low}, not {value}"
    return ""


def _size(value: Any) -> float | None:
    """Return a number, or the MiB of a size; None for a value that has no size."""
    size = mebibytes(value) if isinstance(value, str) else value
    return size if isinstance(size, int | float) else None


def _relative(path: str) -> bool:
    """Whether a text is a relative path; a text of several words is a note for people to replace."""
    return bool(path.strip()) and not path.startswith(("/", "$", "~")) and ("/" in path or " " not in path)


def _wrong_path(text: str) -> str:
    if ".." in text.split("/"):
        return "must not contain '..'"
    return "cannot be the root directory" if text and not text.strip("/") else ""


def _wrong_command(text: str) -> str:
    """Return why a command cannot run without a shell, or an empty string; the recovery splits it alike."""
    try:
        operator = shell_operator(text)
    except ValueError as error:
        return f"is no command line: {error}"
    return (
        f'uses the shell\'s {operator}, but no shell runs it: write ["sh", "-c", "..."]' if operator else ""
    )


def _named(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    names = {str: "a text", int: "a number", float: "a number", dict: "an object", list: "a list"}
    name = names[type(value)]
    if isinstance(value, list) and any(not isinstance(v, str) for v in value):
        return "a list with other values"
    if isinstance(value, dict):
        return "an object with other values" if value else name
    return "a number with a fraction" if isinstance(value, float) and not value.is_integer() else name


def check_checkpoints(
    findings: Findings, detected: Iterable[syntax.Detected], recovered: Iterable[syntax.Recovered]
) -> None:
    """Find checkpoints that come too late or have a wrong entity, and predictions whose recovery loses work.

    Args:
        findings: the collection that errors and warnings are added to.
        detected: all detections of the watched exceptions.
        recovered: all recovery steps, in the order of the file.
    """
    steps: dict[str, list[syntax.Recovered]] = {}
    for step in recovered:
        steps.setdefault(step.exception.text, []).append(step)
    for own in steps.values():
        _check_places(findings, own)
    for statement in detected:
        if statement.form.kind != "predicted":
            continue
        own = steps.get(statement.exception.text, [])
        if any(_is_checkpoint(step) or step.before is not None for step in own):
            continue
        for step in own:
            if f"{step.resource.text}.{step.operation.text}" in _LOSING:
                _loses(findings, step)
                break


def _check_places(findings: Findings, steps: list[syntax.Recovered]) -> None:
    others = [step for step in steps if not _is_checkpoint(step) and step.entity.text == Entity.JOB.value]
    for step in steps:
        if not _is_checkpoint(step):
            continue
        if step.entity.text != Entity.JOB.value:
            message = f"the running job is asked for a checkpoint by JOB, not by {step.entity.text}"
            _add_place(findings, message, step.entity, "write JOB JOB.CHECKPOINT")
        elif any(other.start < step.start for other in others):
            message = "JOB.CHECKPOINT comes after a step for which the program was ended"
            _add_place(findings, message, step.operation, "put it before the other steps of JOB")


def _add_place(findings: Findings, message: str, word: syntax.Word, hint: str) -> None:
    findings.add("ESL049", message, word, hint=hint)


def _loses(findings: Findings, step: syntax.Recovered) -> None:
    name = f"{step.resource.text}.{step.operation.text}"
    findings.warn(
        "ESL078",
        f"{name} ends the program before the predicted failure: what it computed since its last checkpoint"
        " is lost",
        step.operation,
        hint=f"write {name} BEFORE FAILURE"
        if name == "NODE.REPLACE"
        else f"put EXCEPTION RECOVERY STEP {step.exception.text[:40]} JOB JOB.CHECKPOINT before it",
    )


def _is_checkpoint(step: syntax.Recovered) -> bool:
    return (step.resource.text, step.operation.text) == _CHECKPOINT
