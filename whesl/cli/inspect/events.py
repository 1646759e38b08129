"""whesl events: the events of the coordinator's journal, in order; also while the coordinator is down."""

from __future__ import annotations

import contextlib
import time
from typing import Any

import click
import msgspec

from whesl.cli import completion_candidates
from whesl.cli.parameters import option, parameters
from whesl.model import home as places
from whesl.model.evidence import LastLines, kept
from whesl.model.printable import visible
from whesl.report.collection import without_coordinator
from whesl.runtime.journal.archived_records import Record
from whesl.runtime.journal.consumer import JournalConsumer
from whesl.runtime.journal.sqlite_errors import JournalError
from whesl.runtime.journal.store import Journal
from whesl.runtime.wire import keys

# Fields that are long, or have a meaning only for the daemons; only --json prints them.
_LEFT_OUT = frozenset(
    {"task", "spec", "workflow", "history", "recovery", "claim", "peer", "token", "started"}
)
_DATES = 1e9  # floats from here on are times since the epoch, not durations


@click.command()
@parameters
def events(
    *,
    follow: bool = option(False, "Go on with what happens from now on.", names="-f --follow"),
    since: int = option(0, "Only events after number N.", "N", least=0),
    workflow: str = option(
        "", "Only those of one workflow.", "W", shell_complete=completion_candidates.workflows
    ),
    as_json: bool = option(False, "One JSON object a line.", names="--json"),
) -> None:
    """Show what happened to workflows and tasks, and why.

    Each line: number, time, task, kind, content. What tasks write down is among it as it arrives.
    """
    path = places.coordinator_journal(keys.home())
    if not follow:
        shown = 0
        try:
            with Journal(path, read_only=True) as journal:
                for record in journal.read(since):
                    shown += _show(record, workflow, as_json)
            if workflow and not shown and not since:
                click.echo(f"no event of a workflow called {workflow}; `whesl status` names them", err=True)
        except JournalError as error:
            if error.reason != "missing":
                raise
            # A home without a journal is no error.
            alone = without_coordinator(keys.home())
            hint = "; tasks that ran without a coordinator have their own: whesl report" if alone else ""
            click.echo(f"no events yet{hint}", err=True)
        return
    consumer = JournalConsumer(path, since=since)
    for found in consumer:
        if isinstance(found, Record):
            _show(found, workflow, as_json)


def _flattened(record: Record) -> dict[str, Any]:
    """Return a record as an event; an isolator's report becomes an event with its own kind, task and time.

    ``seq`` is the number of the coordinator's record, ``source`` is coordinator or isolator.
    """
    data = {key: value for key, value in record.data.items() if key not in ("from", "kind")}
    event = {"seq": record.seq, "time": record.time, "kind": record.kind, "source": "coordinator"}
    if record.kind == "report":
        told = data["record"]
        event |= {"time": data["time"], "kind": told["kind"], "source": "isolator"}
        data = {key: value for key, value in told.items() if key != "kind"} | {"task": data["task"]}
    task = data.get("task")
    event |= {"task": task if isinstance(task, str) else "", "data": data}
    return event


def _show(record: Record, workflow: str, as_json: bool) -> bool:
    """Print a record as an event if it belongs to the wanted workflow; return whether it does."""
    event = _flattened(record)
    if workflow and not _concerns(event, workflow):
        return False
    if as_json:
        click.echo(msgspec.json.encode(event))
        return True
    clock = time.strftime("%m-%d %H:%M:%S", time.localtime(event["time"]))
    line = f"{event['seq']:>6}  {clock}  {event['task'] or '-'}  {event['kind']}  {_brief(event['data'])}"
    click.echo(visible(line))
    return True


def _concerns(event: dict[str, Any], workflow: str) -> bool:
    if event["task"]:
        return str(event["task"]).startswith(f"{workflow}/")
    data = event["data"]
    if isinstance(data.get("workflow"), dict):
        return bool(data["workflow"].get("id") == workflow)
    tasks = data.get("tasks")
    return isinstance(tasks, dict) and any(str(task).startswith(f"{workflow}/") for task in tasks)


def _brief(data: dict[str, Any]) -> str:
    """Return a record's content in one line: short values in full, of long values only the name."""
    words = []
    for key, value in data.items():
        if key in _LEFT_OUT or value in ("", None, [], {}, False):
            continue
        if key == "raised" and isinstance(value, dict):
            evidence = value.get("evidence") or [{}]
            line = str(evidence[-1].get("line") or evidence[-1].get("detail") or "").strip()
            words.append(f"{value.get('exception')}: {line[:120]}" if line else str(value.get("exception")))
            continue
        if key == "last":
            with contextlib.suppress(msgspec.ValidationError):
                words.append(f"last={msgspec.convert(value, LastLines).clearest[:120]}")
            continue
        text = kept(str(value)) if key == "detail" else ""
        text = text or _plain(value)
        if not text:
            continue
        if text.startswith("/") and "\n" not in text:
            words.append(f"{key}={text}")  # a path is useful only in full
            continue
        words.append(f"{key}={text}" if len(text) <= 80 else f"{key}=...")
    return " ".join(words).replace("\n", " ")


def _plain(value: object) -> str:
    """Return a value as text, without its empty parts."""
    if isinstance(value, dict):
        parts = [f"{key}={text}" for key, part in value.items() if (text := _plain(part))]
        return f"({' '.join(parts)})" if parts else ""
    if isinstance(value, list):
        return ",".join(filter(None, map(_plain, value)))
    if isinstance(value, float):
        if value >= _DATES:
            return time.strftime("%H:%M:%S", time.localtime(value))
        return f"{value:.3f}".rstrip("0").rstrip(".")
    return "" if value is None or value is False else str(value)
