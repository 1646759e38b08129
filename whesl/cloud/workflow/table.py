"""A plain table of stages, as TOML or CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import msgspec

from whesl.cloud.core.plan_records import HOUR, DataFile, Dependency, Processor, Stage, Task, Workflow
from whesl.cloud.input_errors import size
from whesl.cloud.workflow.stages import cycle, order
from whesl.files.toml import Document, converted
from whesl.model.errors import UsageError

_COLUMNS = (
    "name",
    "tasks",
    "after",
    "after_all",
    "processor",
    "seconds",
    "checkpoints",
    "input",
    "output",
    "command",
    "reads",
    "writes",
)
_HINT = f"accepted are [[stage]] tables, or a CSV file, with {', '.join(_COLUMNS)}; name and tasks are needed"

_MOST = 10_000_000  # largest number of a stage's tasks
_LONGEST = 366 * 24 * HOUR  # largest run time of a task in seconds


class _Row(msgspec.Struct, kw_only=True):
    name: str
    tasks: Annotated[int, msgspec.Meta(ge=1, le=_MOST)]
    after: tuple[str, ...] = ()
    after_all: tuple[str, ...] = ()
    processor: Processor = Processor.CPU
    seconds: Annotated[float, msgspec.Meta(ge=0, le=_LONGEST)] | None = None
    checkpoints: bool = False
    input: float | str = 0.0
    output: float | str = 0.0
    command: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()


def from_toml(text: str, path: str) -> Workflow:
    """Read ``[[stage]]`` tables.

    Args:
        text: the TOML text.
        path: the file's name, for messages.

    Raises:
        UsageError: the text has errors; the message names all of them with their lines.
    """
    document = Document(path, text, _HINT)
    for key in document.values:
        if key not in ("name", "stage"):
            document.wrong(f"{key!r} is not known here; known are name, stage", key=key)
    name = document.values.get("name", Path(path).stem)
    if not isinstance(name, str) or not name.isprintable():
        document.wrong("name: a text of one line is needed", key="name")
    rows = document.rows(_Row, "stage")
    if not rows:
        document.wrong("there is no [[stage]]")
    numbered = {number: row for number, row in enumerate(rows) if row is not None}
    _check(numbered, lambda number, key, said: document.wrong(said, "stage", number, key), whole=len(rows))
    document.check()
    return _workflow(str(name), list(numbered.values()), path)


def from_csv(text: str, path: str) -> Workflow:
    """Read a CSV table with a header line; ``after`` and ``after_all`` hold stage names separated by blanks.

    Args:
        text: the CSV text.
        path: the file's name, for messages.

    Raises:
        UsageError: the text has errors; the message names all of them with their lines.
    """
    reader = csv.DictReader(io.StringIO(text.removeprefix("\ufeff")))  # spreadsheets write a byte order mark
    columns = [name.strip() for name in reader.fieldnames or ()]
    reader.fieldnames = columns
    errors: list[tuple[int, str]] = []
    bad = 0
    unknown = [name for name in columns if name not in _COLUMNS]
    missing = [name for name in ("name", "tasks") if name not in columns]
    twice = [name for name in _COLUMNS if columns.count(name) > 1]
    if unknown or missing or twice:
        said = [f"column {name!r} is there twice" for name in twice]
        said += [f"column {name!r} is not known" for name in unknown]
        said += [f"column {name!r} is missing" for name in missing]
        raise UsageError(f"{path}:1: {'; '.join(said)}", hint=_HINT)
    rows: dict[int, _Row] = {}
    try:
        for given in reader:
            values: dict[str, Any] = {
                key: value.strip() for key, value in given.items() if key and value and value.strip()
            }
            for key in ("after", "after_all", "command", "reads", "writes"):
                if key in values:
                    values[key] = values[key].split()
            wrong = _convert(values)
            if None in given:
                wrong.append(f"{len(columns)} cells are needed, there are more; quote one with a comma in it")
            errors += [(reader.line_num, said) for said in wrong]
            bad += bool(wrong)
            if not wrong:
                rows[reader.line_num] = _Row(**values)
    except csv.Error as error:
        raise UsageError(f"{path}:{reader.line_num}: no CSV: {error}", hint=_HINT) from None
    if not rows and not errors:
        errors.append((1, "there is no stage"))
    _check(rows, lambda line, _, said: errors.append((line, said)), whole=len(rows) + bad)
    if errors:
        raise UsageError("\n".join(f"{path}:{line}: {said}" for line, said in sorted(errors)), hint=_HINT)
    return _workflow(Path(path).stem, list(rows.values()), path)


def _convert(values: dict[str, Any]) -> list[str]:
    """Convert the texts of a row in place; return what is wrong with them."""
    wrong = []
    for field in msgspec.structs.fields(_Row):
        if field.name not in values:
            wrong += [f"{field.name} is missing"] if field.required else []
            continue
        values[field.name], said = converted(values[field.name], field.type, field.name, strict=False)
        wrong += [said] if said else []
    return wrong


def _check(rows: dict[int, _Row], wrong: Callable[[int, str, str], None], *, whole: int) -> None:
    """Report errors in rows whose values have the right types."""
    names: set[str] = set()
    writers: dict[str, str] = {}
    for number, row in rows.items():
        for name in row.writes:
            if writers.setdefault(name, row.name) != row.name:
                wrong(number, "writes", f"{name!r} is written by {writers[name]} and by {row.name}")
        if row.name in names:
            wrong(number, "name", f"stage {row.name!r} is there twice")
        names.add(row.name)
        if not row.name.isprintable() or not row.name.strip():
            wrong(number, "name", f"name {row.name!r}; a text of one line is accepted")
        for key in ("input", "output"):
            try:
                size(getattr(row, key))
            except ValueError as error:
                wrong(number, key, f"{key} of {row.name}: {error}")
        for name in row.writes if row.tasks > 1 else ():
            if "{index}" not in name:
                said = f"each task of {row.name} would write {name!r}; {{index}} has to be in it"
                wrong(number, "writes", said)
    edges = {row.name: (*row.after, *row.after_all) for row in rows.values()}
    if circle := cycle(edges):
        number = next(number for number, row in rows.items() if row.name == circle[0])
        wrong(number, "after", f"the stages {' -> '.join(circle)} wait for each other; none may")
    if len(rows) < whole:
        return  # a name that looks unknown may belong to a row with errors
    for number, row in rows.items():
        for key in ("after", "after_all"):
            for parent in getattr(row, key):
                if parent not in names:
                    wrong(number, key, f"stage {row.name} comes after {parent!r}, which is no stage")


def _workflow(name: str, rows: list[_Row], path: str) -> Workflow:
    by_name = {row.name: row for row in rows}
    sequence = order({row.name: (*row.after, *row.after_all) for row in rows}, "stage", path)
    stages = tuple(
        Stage(
            name=row.name,
            tasks=row.tasks,
            parents=tuple(
                Dependency(parent=parent, barrier=parent in row.after_all)
                for parent in dict.fromkeys((*row.after, *row.after_all))
            ),
            processor=row.processor,
            input_bytes=size(row.input),
            output_bytes=size(row.output),
            seconds=row.seconds,
            checkpoints=row.checkpoints,
        )
        for row in map(by_name.__getitem__, sequence)
    )
    if not all(row.command for row in rows):
        return Workflow(name=name, stages=stages)
    return Workflow(name=name, stages=stages, tasks=_tasks(stages, by_name))


def _tasks(stages: tuple[Stage, ...], rows: dict[str, _Row]) -> tuple[Task, ...]:
    """Return the tasks of stages with commands; ``{index}`` in a command becomes the task's number, from 0.

    A task reads the files that its parents write, and the files in ``reads``.
    """
    count = {stage.name: stage.tasks for stage in stages}
    written: dict[str, list[tuple[DataFile, ...]]] = {}
    found = []
    for stage in stages:
        row = rows[stage.name]
        # All tasks of a stage share these possibly very long tuples.
        whole = [edge.parent for edge in stage.parents if edge.barrier]
        behind = tuple(f"{parent}-{number}" for parent in whole for number in range(count[parent]))
        gathered = tuple(file for parent in whole for files in written[parent] for file in files)
        own_files = written[stage.name] = []
        for index in range(stage.tasks):
            parents: list[str] = []
            inputs: list[DataFile] = []
            for edge in stage.parents:
                there = count[edge.parent]
                if edge.barrier:
                    continue
                if there >= stage.tasks:
                    own = range(index * there // stage.tasks, (index + 1) * there // stage.tasks)
                else:
                    own = range(index * there // stage.tasks, index * there // stage.tasks + 1)
                parents += [f"{edge.parent}-{number}" for number in own]
                for number in own:
                    inputs += written[edge.parent][number]
            command = _numbered(row.command, index)
            inputs += [
                DataFile(name=name, executable=name == command[0].removeprefix("./"))
                for name in _numbered(row.reads, index)
            ]
            size_of_each = stage.output_bytes / max(1, len(row.writes))
            outputs = tuple(DataFile(name=name, size=size_of_each) for name in _numbered(row.writes, index))
            own_files.append(outputs)
            found.append(
                Task(
                    name=f"{stage.name}-{index}",
                    stage=stage.name,
                    parents=(*behind, *parents) if parents else behind,
                    command=command,
                    inputs=(*gathered, *inputs) if inputs else gathered,
                    outputs=outputs,
                    seconds=stage.seconds,
                )
            )
    return tuple(found)


def _numbered(words: tuple[str, ...], index: int) -> tuple[str, ...]:
    return tuple(word.replace("{index}", str(index)) for word in words)
