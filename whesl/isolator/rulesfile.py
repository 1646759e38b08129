"""Rules for one task: checked ESL, or a compiled specification, with a cache in between.

A wrapped task compiles nothing and does not even import the parser: a workflow of thousands of tasks would
pay for it thousands of times.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from whesl import __version__
from whesl.esl.spec import Entity, ExceptionSpec, Level, ResourceDeclaration, Spec
from whesl.isolator import taskdir
from whesl.model.decoding import UNDECODABLE
from whesl.model.digest import hexdigest
from whesl.model.errors import UsageError, WheslError


def load_rules(files: Sequence[str], cache: Path, *, any_job: bool) -> Spec | None:
    """Return the rules of several files as one specification, None without any file.

    Args:
        files: ESL text, or JSON as ``whesl compile`` prints it.
        cache: directory of what was compiled before.
        any_job: the task has no name, so every exception is about it.

    Raises UsageError for what cannot be read or is not valid, with all findings.
    """
    specs = [_load(Path(file), cache) for file in files]
    if not specs:
        return None
    spec = specs[0] if len(specs) == 1 else _merged(specs)
    if any_job:
        named = tuple(msgspec.structs.replace(item, jobs=("*",)) for item in spec.exceptions)
        spec = msgspec.structs.replace(spec, exceptions=named)
    return spec


def _load(path: Path, cache: Path) -> Spec:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UsageError(f"the rules {path} cannot be read: {error.strerror}") from error
    if content.lstrip().startswith(b"{"):
        try:
            return msgspec.json.decode(content, type=Spec)
        except UNDECODABLE as error:
            raise UsageError(
                f"{path} is not a compiled specification: {error}", hint="whesl compile RULES.esl makes one"
            ) from error
    key = hexdigest(f"{__version__}\0{path.absolute()}\0{path}\0".encode() + content, 20)
    place = cache / f"{key}.rules"
    known = taskdir.load(place, _Compiled)
    if known is not None and all(_digest(Path(name)) == digest for name, digest in known.included.items()):
        return known.spec
    compiled = _compiled(path)
    cache.mkdir(mode=0o700, exist_ok=True)
    taskdir.replace(place, msgspec.json.encode(compiled))
    return compiled.spec


class _Compiled(msgspec.Struct, frozen=True, kw_only=True):
    """A specification, and the files it includes as they were: real paths, and the digests of their bytes."""

    spec: Spec
    included: dict[str, str] = {}


def _digest(path: Path) -> str:
    """Return the digest of an included file as it is now, "" when it cannot be read."""
    try:
        # Not from a pipe, which could keep us waiting.
        return hexdigest(path.read_bytes(), 20) if path.is_file() else ""
    except OSError:
        return ""


def _compiled(path: Path) -> _Compiled:
    # Only here: the parser is the heaviest import of all, and a compiled file needs none of it.
    from whesl.esl import load_all

    try:
        spec, included = load_all(path)
    except WheslError as error:
        raise UsageError(error.message, hint=error.hint) from error
    return _Compiled(spec=spec, included=included)


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
        exceptions=tuple(exception for exception, _ in exceptions.values()),
    )
