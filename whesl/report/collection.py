"""Gathers the records of a workflow from the coordinator's journal and the isolators' journals."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote, unquote

import msgspec

from whesl.files import file_retry
from whesl.files.decode_errors import UNDECODABLE
from whesl.model import home as places
from whesl.model.errors import UsageError
from whesl.model.workflow import Task, Workflow
from whesl.report.directories import TaskDirectory, task_directories
from whesl.report.handover_record import HandedOver
from whesl.report.report_records import ALONE
from whesl.runtime.journal.records import coordinator_records, isolator_records, of_coordinator, of_isolator
from whesl.runtime.journal.sqlite_errors import JournalError
from whesl.runtime.journal.store import Journal, Record

_Kind = TypeVar("_Kind")
_HINTED = 5  # the most workflows that a hint names


class Happening(msgspec.Struct, frozen=True, kw_only=True):
    """One recorded fact about a task. ``time`` is seconds since the epoch."""

    task: str
    time: float
    record: isolator_records.AnyRecord | coordinator_records.AnyRecord


class Gathered(msgspec.Struct, frozen=True, kw_only=True):
    """All records of a workflow.

    ``directories``: by task, its newest directory. ``handed_over``: by task, the attempts that ran on another
    cluster. ``submitted``: by job id, the time of submission.
    ``damaged`` are sentences on unreadable parts.
    """

    workflow: Workflow
    happenings: tuple[Happening, ...]
    directories: dict[str, TaskDirectory] = {}
    handed_over: dict[str, list[HandedOver]] = {}
    submitted: dict[str, float] = {}
    damaged: tuple[str, ...] = ()


def happening(record: coordinator_records.AnyRecord, time: float) -> Happening | None:
    """Return the fact about a task in a record of the coordinator's journal, None for other records.

    A report of an isolator is returned as the isolator's own record, with its time.

    Args:
        record: the record.
        time: the record's time, seconds since the epoch.
    """
    if isinstance(record, coordinator_records.Reported):
        return Happening(task=record.task, time=record.time, record=record.record)
    task = getattr(record, "task", "")
    return Happening(task=task, time=time, record=record) if task else None


def latest(home: Path) -> str:
    """Return the id of the workflow that was begun last. Raises UsageError when there is none, OSError."""
    return file_retry.retried(lambda: _latest(home))


def _latest(home: Path) -> str:
    begun = {
        path.parent.name: path.stat().st_mtime
        for path in file_retry.entries(places.workflows(home), "*/workflow.json")
    }
    for name in without_coordinator(home, begun.keys()):
        tasks = file_retry.entries(places.tasks(home) / quote(name, safe=""), "*/job.json")
        begun[name] = max(path.stat().st_mtime for path in tasks)
    if not begun:  # the tasks' own files may have been removed since then
        begun = _known_to_coordinator(home)
    if begun:
        return max(begun, key=lambda name: begun[name])
    raise UsageError(
        f"nothing was run yet with WHESL_HOME={home}", hint="start with `whesl run` or `whesl exec`"
    )


def without_coordinator(home: Path, known: Collection[str] = ()) -> list[str]:
    """Return the workflows that are not known, and whose tasks have left records of their own.

    Args:
        home: the WHESL home.
        known: ids of the known workflows.
    """
    return [
        name
        for directory in file_retry.entries(places.tasks(home), "*")
        if (name := unquote(directory.name)) not in known and file_retry.entries(directory, "*/job.json")
    ]


def gather(home: Path, workflow_id: str, wanted: Callable[[TaskDirectory], bool] | None = None) -> Gathered:
    """Return all records of a workflow. Raises UsageError for an unknown workflow, OSError.

    Args:
        home: the WHESL home.
        workflow_id: the workflow's id.
        wanted: selects directories of tasks; None for all.
    """
    return file_retry.retried(lambda: _gather(home, workflow_id, wanted))


def _gather(home: Path, workflow_id: str, wanted: Callable[[TaskDirectory], bool] | None) -> Gathered:
    damaged: list[str] = []
    directories = task_directories(home, workflow_id)
    told = [item for item in _from_coordinator(home, damaged) if item.task.startswith(f"{workflow_id}/")]
    if workflow_id == ALONE:  # commands are independent of each other, also those of one name
        named = {item.task.id for item in directories}
        told = [item for item in told if item.task not in named]
        directories = [item.by_its_own_name() for item in directories]
    if wanted is not None:
        directories = [item for item in directories if wanted(item)]
        ids = {item.task.id for item in directories}
        told = [item for item in told if item.task in ids]
    workflow = _workflow(home, workflow_id, [item.task for item in directories] or _tasks_of(told))
    found: list[Happening] = []
    reported: dict[str, list[Happening]] = {item.task.id: [] for item in directories}
    clocks: dict[str, dict[str, float]] = {}  # by task and claim: by how many seconds its clock was behind
    for item in told:
        match item.record:
            case coordinator_records.Clock(claim=claim, behind=behind):
                clocks.setdefault(item.task, {})[claim] = behind
        relayed = isinstance(item.record, isolator_records.Record)
        (reported.setdefault(item.task, []) if relayed else found).append(item)
    own: dict[str, list[Happening]] = {}
    handed: dict[str, list[HandedOver]] = {}
    for place in directories:
        handed.setdefault(place.task.id, []).extend(place.handed_over())
        own.setdefault(place.task.id, []).extend(_from_isolator(place.task.id, place.path, damaged))
    # An absent coordinator misses records; an isolator's own journal may be gone or damaged: both are read.
    sources = [found]
    for name, relayed_items in reported.items():
        written = own.get(name, [])
        items = written if len(written) >= len(relayed_items) else relayed_items
        sources.append(_by_coordinators_clock(items, clocks.get(name, {})))
    return Gathered(
        workflow=workflow,
        happenings=_merged(sources),
        directories={item.task.id: item for item in directories},
        handed_over=handed,
        submitted=_submissions(places.submissions(home, workflow_id)),
        damaged=tuple(damaged),
    )


def _by_coordinators_clock(items: list[Happening], behind: dict[str, float]) -> list[Happening]:
    """Return a task's records with their times converted to the coordinator's clock.

    Args:
        items: the records in order; each start of the task's job, perhaps on another host, begins with
            ``begun``.
        behind: by claim, the seconds by which its host's clock was behind.
    """
    if not behind:
        return items
    moved, by = [], 0.0
    for item in items:
        if isinstance(item.record, isolator_records.Begun):
            by = behind.get(item.record.claim, 0.0)
        moved.append(msgspec.structs.replace(item, time=item.time + by))
    return moved


def _merged(sources: list[list[Happening]]) -> tuple[Happening, ...]:
    """Merge records in the order of time; the records of one daemon keep their order."""
    dated: list[tuple[float, Happening]] = []
    for source in sources:
        latest = -math.inf
        for item in source:
            latest = max(latest, item.time)
            dated.append((latest, item))
    return tuple(item for _, item in sorted(dated, key=lambda pair: pair[0]))


def known_workflows(home: Path) -> list[str]:
    """Return the names of the workflows of a home; those without a coordinator are last. Raises OSError."""
    return file_retry.retried(lambda: _known_workflows(home))


def gather_fitting(home: Path, name: str) -> Gathered:
    """Return all records of the workflow that a name means: an exact match, or the only one that begins so.

    Args:
        home: the WHESL home.
        name: a workflow's id, or its beginning.

    Raises:
        UsageError: no workflow begins so, or several do.
        OSError: the home cannot be read.
    """
    try:
        return gather(home, name)
    except UsageError as error:
        fitting = [known for known in known_workflows(home) if known.startswith(name)]
        if not fitting:
            raise
        if len(fitting) > 1:
            hint = f"did you mean: {', '.join(fitting[-_HINTED:])}"
            raise UsageError(f"{name!r} fits {len(fitting)} workflows", hint=hint) from error
        return gather(home, fitting[0])


def _known_workflows(home: Path) -> list[str]:
    known = [path.parent.name for path in file_retry.entries(places.workflows(home), "*/workflow.json")]
    return known + without_coordinator(home, known)


def _tasks_of(told: list[Happening]) -> list[Task]:
    """Return the tasks in the coordinator's records, for tasks whose own files were removed."""
    found: dict[str, Task] = {}
    for item in told:
        match item.record:
            case coordinator_records.Registered(step=step, instance=instance, workspace=workspace):
                found[item.task] = Task(id=item.task, step=step, instance=instance, workspace=workspace)
    return list(found.values())


def _workflow(home: Path, workflow_id: str, tasks: list[Task]) -> Workflow:
    try:
        content = file_retry.content(places.workflow_file(home, workflow_id))
        return msgspec.json.decode(content or b"", type=Workflow)
    except UNDECODABLE:
        if tasks:
            one_each = tuple({task.id: task for task in tasks}.values())
            return Workflow(id=workflow_id, name=workflow_id, wms="", root="", tasks=one_each)
    known = known_workflows(home) or sorted(_known_to_coordinator(home))
    raise UsageError(
        f"there is no workflow '{workflow_id}'",
        hint=f"known are: {', '.join(known[-5:])}" if known else "none was run with this WHESL_HOME",
    )


def _known_to_coordinator(home: Path) -> dict[str, float]:
    """Return the workflows of the coordinator's journal, each with the last registration of a task."""
    told = (
        item
        for item in _from_coordinator(home, [])
        if isinstance(item.record, coordinator_records.Registered)
    )
    return {item.task.partition("/")[0]: item.time for item in told}


def _from_coordinator(home: Path, damaged: list[str]) -> Iterator[Happening]:
    for record, time in _read(places.coordinator_journal(home), of_coordinator, damaged):
        found = happening(record, time)
        if found is not None:
            yield found


def _from_isolator(task: str, directory: Path, damaged: list[str]) -> list[Happening]:
    read = _read(directory / "journal.db", of_isolator, damaged)
    return [Happening(task=task, time=time, record=record) for record, time in read]


def _read(
    path: Path, decode: Callable[[msgspec.Raw], _Kind], damaged: list[str]
) -> Iterator[tuple[_Kind, float]]:
    """Yield a journal's records with their times; unreadable records are named and left out."""
    for record in _records(path, damaged):
        try:
            yield decode(record.content), record.time
        except UNDECODABLE as error:
            damaged.append(f"{path}: record {record.seq}, of kind {record.kind}, is not understood ({error})")


def _records(path: Path, damaged: list[str]) -> Iterator[Record]:
    """Yield the readable records of a journal; reading of old records continues after damaged ones."""
    after = 0
    while True:
        try:
            with Journal(path, read_only=True) as journal:
                yield from journal.read(after)
            return
        except JournalError as error:
            if error.reason == "missing":
                return
            damaged.append(error.message)
            if error.readable_after <= after:
                return
            after = error.readable_after


class _Ledger(msgspec.Struct):
    submitted: dict[str, float] = {}


def _submissions(directory: Path) -> dict[str, float]:
    found: dict[str, float] = {}
    for path in file_retry.entries(directory, "*.json"):
        with contextlib.suppress(OSError, *UNDECODABLE):
            found.update(msgspec.json.decode(file_retry.content(path) or b"{}", type=_Ledger).submitted)
    return found
