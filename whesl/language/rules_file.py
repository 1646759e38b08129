"""Rules for one task: checked ESL, or a compiled specification, with a cache in between.

A wrapped task compiles nothing and does not even import the parser: a workflow of thousands of tasks would
pay for it thousands of times.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from whesl.files import file_retry
from whesl.files.decode_errors import UNDECODABLE
from whesl.language import rules_cache, shipped_policy
from whesl.language.spec import Entity, ExceptionSpec, Level, ResourceDeclaration, Spec
from whesl.model.errors import UsageError, WheslError


def load_rules(
    files: Sequence[str], cache: Path, *, any_job: bool, warn: Callable[[str], object] | None = None
) -> Spec | None:
    """Return the rules of several files as one specification, None without any file.

    Args:
        files: ESL text, or JSON as ``whesl compile`` prints it.
        cache: directory of what was compiled before.
        any_job: the task has no name, so every exception is about it.
        warn: is told the first warnings of each file, a line each.

    Raises UsageError for what cannot be read or is not valid, with all findings.
    """
    specs = [_load(Path(shipped_policy.place(file)), cache, warn) for file in files]
    if not specs:
        return None
    spec = specs[0] if len(specs) == 1 else _merged(specs)
    if any_job:
        named = tuple(msgspec.structs.replace(item, jobs=("*",)) for item in spec.exceptions)
        spec = msgspec.structs.replace(spec, exceptions=named)
    return spec


def _load(path: Path, cache: Path, warn: Callable[[str], object] | None) -> Spec:
    try:
        content = file_retry.retried(path.read_bytes)
    except OSError as error:
        raise UsageError(f"the rules {path} cannot be read: {error.strerror}") from error
    known = rules_cache.recall(str(cache), str(path), content)
    spec, warnings = None, known["warnings"] if known is not None else []
    if known is not None:
        with contextlib.suppress(msgspec.ValidationError):  # another make's
            spec = msgspec.convert(known["spec"], Spec)
    if spec is None:
        made = _decoded if rules_cache.is_compiled(content) else _compiled
        spec, included, warnings = made(path, content)
        with contextlib.suppress(OSError):  # the next call checks again
            told = msgspec.to_builtins(spec)
            rules_cache.remember(str(cache), str(path), content, told, included, warnings)
    if warn is not None:
        for each in warnings:
            warn(each)
    return located(spec, _directory(path, content, spec.file))


def _directory(path: Path, content: bytes, file: str) -> Path:
    """Return the directory of a specification; a compiled one names the file that it was made of."""
    directory = path.absolute().parent
    return (directory / file).parent if rules_cache.is_compiled(content) else directory


def located(spec: Spec, directory: Path) -> Spec:
    """Return a specification whose handlers are found from any directory.

    A handler's relative path starts from the directory of the specification's file. Who runs it, an isolator
    or the coordinator, works elsewhere, and knows the file by the name that its user typed.

    Args:
        spec: the specification.
        directory: the absolute path of its file's directory.
    """
    resources = tuple(
        msgspec.structs.replace(
            resource,
            operations=tuple(
                msgspec.structs.replace(each, handler=str(directory / each.handler))
                if each.handler is not None and "/" in each.handler
                else each
                for each in resource.operations
            ),
        )
        for resource in spec.resources
    )
    return msgspec.structs.replace(spec, resources=resources)


def _decoded(path: Path, content: bytes) -> tuple[Spec, dict[str, str], list[str]]:
    try:
        return msgspec.json.decode(content, type=Spec), {}, []
    except UNDECODABLE as error:
        raise UsageError(
            f"{path} is not a compiled specification: {error}", hint="whesl compile RULES.esl makes one"
        ) from error


def _compiled(path: Path, content: bytes) -> tuple[Spec, dict[str, str], list[str]]:
    # Only here: the parser is the heaviest import of all, and a compiled file needs none of it.
    from whesl.language import checked
    from whesl.language.diagnostics import brief

    try:
        result = checked(path)
    except WheslError as error:
        raise UsageError(error.message, hint=error.hint) from error
    assert result.spec is not None
    return result.spec, result.included, brief(str(path), result.diagnostics)


def _merged(specs: Sequence[Spec]) -> Spec:
    """Return specifications as one. Raises UsageError when two of them define the same exception."""
    exceptions: dict[str, tuple[ExceptionSpec, str]] = {}
    resources: list[ResourceDeclaration] = []
    for spec in specs:
        resources += spec.resources
        for exception in spec.exceptions:
            if exception.name in exceptions:
                other = exceptions[exception.name][1]
                raise UsageError(
                    f"{spec.place(exception.span)}: exception {exception.name} is also in {other}",
                    hint="give one of the two another name",
                )
            exceptions[exception.name] = (exception, spec.file)
    entities: dict[Entity, None] = {}
    levels: dict[Level, None] = {}
    for spec in specs:
        entities.update(dict.fromkeys(spec.entities))
        levels.update(dict.fromkeys(spec.levels))
    return Spec(
        file=", ".join(spec.file for spec in specs),
        entities=tuple(entities),
        levels=tuple(levels),
        resources=tuple(resources),
        coupled=tuple(dict.fromkeys(group for spec in specs for group in spec.coupled)),
        exceptions=tuple(exception for exception, _ in exceptions.values()),
    )
