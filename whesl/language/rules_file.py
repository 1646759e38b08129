"""Loads the rules of one task: ESL, which is checked and cached, or a compiled specification.

A task of a wrapped workflow reads a compiled specification and does not import the parser, whose import
thousands of tasks would repeat.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from whesl.files import file_retry
from whesl.files.decode_errors import UNDECODABLE
from whesl.files.non_utf8_text import carried
from whesl.language import rules_cache, shipped_policy
from whesl.language.spec import Entity, ExceptionSpec, Level, ResourceDeclaration, Spec
from whesl.model.errors import UsageError, WheslError


def load_rules(
    files: Sequence[str], cache: Path, *, any_job: bool, warn: Callable[[str], object] | None = None
) -> Spec | None:
    """Return the rules of several files as one specification, None without any file.

    Args:
        files: files of ESL text, or of JSON from ``whesl compile``.
        cache: directory of the cache of checked rules.
        any_job: whether every exception covers the task, since the task has no name.
        warn: called with the first warnings of each file, a line each.

    Raises UsageError, with all findings, for a file that cannot be read or has errors.
    """
    specs = [_load(Path(shipped_policy.place(file)), cache, warn) for file in files]
    if not specs:
        return None
    spec = specs[0] if len(specs) == 1 else _merged(specs)
    return spec.for_any_job() if any_job else spec


def _load(path: Path, cache: Path, warn: Callable[[str], object] | None) -> Spec:
    try:
        content = file_retry.retried(path.read_bytes)
    except OSError as error:
        raise UsageError(f"the rules {path} cannot be read: {error.strerror}") from error
    known = rules_cache.recall(str(cache), str(path), content)
    spec, warnings = None, known["warnings"] if known is not None else []
    if known is not None:
        with contextlib.suppress(msgspec.ValidationError):  # cached by a WHESL with other records
            spec = msgspec.convert(known["spec"], Spec)
    if spec is None:
        made = _decoded if rules_cache.is_compiled(content) else _compiled
        spec, included, warnings = made(path, content)
        spec = msgspec.structs.replace(spec, file=carried(spec.file))
        with contextlib.suppress(OSError):  # without a cache file the next call checks the rules again
            told = msgspec.to_builtins(spec)
            rules_cache.remember(str(cache), str(path), content, told, included, warnings)
    if warn is not None:
        for each in warnings:
            warn(each)
    return located(spec, _directory(path, content, spec.file))


def _directory(path: Path, content: bytes, file: str) -> Path:
    """Return the directory of a specification's ESL file, whose name a compiled specification contains."""
    directory = path.absolute().parent
    return (directory / file).parent if rules_cache.is_compiled(content) else directory


def located(spec: Spec, directory: Path) -> Spec:
    """Return a specification with absolute paths of its handlers.

    A handler's relative path starts from the directory of the specification's file. The isolator or the
    coordinator, which runs the handler, has another working directory.

    Args:
        spec: the specification.
        directory: the absolute path of the directory of the specification's file.
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
    # Imported only here: the parser is the slowest import, and a compiled file does not need it.
    from whesl.language import checked
    from whesl.language.diagnostics import brief

    try:
        result = checked(path)
    except WheslError as error:
        raise UsageError(error.message, hint=error.hint) from error
    assert result.spec is not None
    return result.spec, result.included, brief(str(path), result.diagnostics)


def _merged(specs: Sequence[Spec]) -> Spec:
    """Merge specifications into one. Raises UsageError when two of them define the same exception."""
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
