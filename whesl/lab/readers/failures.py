"""Readers of failure records: LANL, Failure Trace Archive, Mira, and a plain table.

Each reader makes a ``History``. Messages count and list the lines that cannot be read.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import NamedTuple, TextIO

import numpy as np
from numpy.typing import NDArray

from whesl.files.packed_text import unpacked
from whesl.model.errors import UsageError, WheslError
from whesl.prediction.failures.failure_history import History, bursts, merged

_LANL = "System,machine type,nodes"
_FTA = "# event_id"
_MIRA = "event_id,msg_id"
_LANL_TIME = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4}) (\d{1,2}):(\d\d)")
_LANL_CAUSES = ("facilities", "hardware", "human", "network", "undetermined", "software")
_MIDPLANE = re.compile(r"R([0-2])([0-9A-F])-M([01])")
_RACK = re.compile(r"R([0-2])([0-9A-F])(?:-|$)")
_TABLE = ["node", "start", "end", "cause"]
_SHOWN = 5  # largest number of malformed lines in a message
# More nodes than any machine has; the limit keeps a damaged number from filling the memory.
_MOST_NODES = 1_000_000


class Malformed(NamedTuple):
    """A line of a file that cannot be read.

    Attributes:
        line: the line's number, from 1.
        why: the error, and the accepted form.
    """

    line: int
    why: str


def told(malformed: Sequence[tuple[int, str]], unit: str = "line") -> str:
    """Return a message with the number of malformed lines and their first errors; "" for no such line.

    Args:
        malformed: (number, error) of each malformed line.
        unit: what the numbers count: "line" or "entry".
    """
    return f"{len(malformed)} not read: {shown(malformed, unit)}" if malformed else ""


def shown(malformed: Sequence[tuple[int, str]], unit: str) -> str:
    """Return the errors of the first malformed lines, and the number of the remaining ones.

    Args:
        malformed: (number, error) of each malformed line.
        unit: what the numbers count: "line" or "entry".
    """
    more = f"; and {len(malformed) - _SHOWN} more" if len(malformed) > _SHOWN else ""
    return "; ".join(f"{unit} {line}: {why}" for line, why in malformed[:_SHOWN]) + more


@dataclass(frozen=True, slots=True)
class Loaded:
    """The content of a file of failure records.

    Attributes:
        history: the failures.
        format: ``lanl``, ``fta``, ``mira`` or ``csv``.
        lines: number of lines that hold a record, readable or not.
        starts: begin of each record, in seconds, ascending, before overlapping records of a node are merged.
        malformed: the lines that cannot be read.
        elsewhere: number of records that are no failure of a node, by kind of record.
    """

    history: History
    format: str
    lines: int
    starts: NDArray[np.float64]
    malformed: tuple[Malformed, ...] = ()
    elsewhere: dict[str, int] = field(default_factory=dict)


class _Row(NamedTuple):
    line: int
    node: str
    start: float
    end: float
    cause: str
    system: str = ""


@dataclass(slots=True)
class _Found:
    """The records that a reader has read so far."""

    rows: list[_Row] = field(default_factory=list)
    malformed: list[Malformed] = field(default_factory=list)
    elsewhere: Counter[str] = field(default_factory=Counter)
    lines: int = 0
    systems: dict[str, int] = field(default_factory=dict)  # number of nodes by system; 0 if unknown
    gone: set[str] = field(default_factory=set)


def read(
    path: Path,
    format: str | None = None,  # noqa: A002  the option's name on the command line
    *,
    nodes: int | None = None,
    system: str | None = None,
    strict: bool = False,
) -> Loaded:
    """Read a file of failure records, compressed (gzip, bzip2, xz) or not.

    Args:
        path: the file.
        format: ``lanl``, ``fta``, ``mira`` or ``csv``; None to detect it from the first line.
        nodes: number of nodes of a plain table's machine; None for the nodes that the table names.
        system: the system to read from a file of several systems (LANL, FTA); None to read all systems as one
            machine.
        strict: whether a malformed line is an error.

    Raises:
        WheslError: the file cannot be read, or holds no failure.
        UsageError: the file has another format, lacks the system, or has a malformed line and ``strict`` is
            set.
    """
    file = _opened(path)
    first = file.readline()
    told = _told(first) if format is None else format
    if told not in _READERS or (told != _told(first) and told != "fta"):
        raise UsageError(
            f"{path}:1: not a file of failures in {f'the format {told}' if told else 'any known format'}",
            hint="accepted are LANL's table (System,machine type,nodes,...), an FTA event trace "
            "(# event_id ...), Mira's events (event_id,msg_id,...), and a table that begins with "
            "node,start,end[,cause]",
        )
    found = _Found()
    if told == "csv":
        _known(path, _names(first))
    try:
        _READERS[told](first, file, found)
    except csv.Error as error:
        raise WheslError(f"cannot read {path}: {error}", hint="is it whole, and a text file?") from error
    if system is not None:
        _one_system(path, found, system)
    history = _machine(path, found, told, nodes)
    malformed = tuple(sorted(found.malformed))
    if malformed and strict:
        line, why = malformed[0]
        raise UsageError(
            f"{path}:{line}: {why}; {len(malformed)} of {found.lines} lines cannot be read",
            hint="without --strict they are left out and counted",
        )
    if not len(history):
        more = f"; line {malformed[0].line}: {malformed[0].why}" if malformed else ""
        raise WheslError(f"{path}: no failure in {found.lines} lines{more}")
    starts = np.sort(np.array([row.start for row in found.rows]))
    return Loaded(history, told, found.lines, starts, malformed, found.elsewhere)


def periods(path: Path) -> History:
    """Read windows in which a whole machine was out of service: lines of ``start,end``, without a header.

    Args:
        path: the file, with times as ``YYYY-MM-DD hh:mm:ss`` in UTC.

    Returns:
        A machine of one node that is down in each window.

    Raises:
        UsageError: a line has another form.
        WheslError: the file cannot be read.
    """
    windows = []
    for number, fields in enumerate(csv.reader(_opened(path)), 1):
        try:
            start, end = map(_iso, fields)
        except ValueError as error:
            raise UsageError(f"{path}:{number}: not 'start,end' with times in UTC: {error}") from None
        windows.append((0, start, end))
    if not windows:
        raise WheslError(f"{path}: no window")
    return merged(1, min(row[1] for row in windows), max(row[2] for row in windows), windows)


def _opened(path: Path) -> TextIO:
    return io.StringIO(unpacked(path).decode(errors="replace"), newline="")


def _told(first: str) -> str:
    if first.startswith(_LANL):
        return "lanl"
    if first.startswith(_FTA):
        return "fta"
    if first.startswith(_MIRA):
        return "mira"
    return "csv" if _names(first)[:3] == _TABLE[:3] else ""


def _names(first: str) -> list[str]:
    return [name.strip().lower() for name in first.strip().split(",")]


def _known(path: Path, names: list[str]) -> None:
    """Raise UsageError if a plain table has unknown columns."""
    for place, name in enumerate(names):
        if _TABLE[place : place + 1] != [name]:
            raise UsageError(f"{path}:1: unknown column {name!r}", hint="known: node,start,end[,cause]")


def _records(
    file: Iterable[str],
    found: _Found,
    columns: int,
    take: Callable[[int, list[str]], None],
    delimiter: str = ",",
) -> None:
    """Call ``take`` with the number and the fields of each line after the first; count the lines."""
    reader = csv.reader(file, delimiter=delimiter)
    while True:
        try:
            fields = next(reader)
            if not fields:
                continue
            if len(fields) < columns:
                raise ValueError(f"{len(fields)} fields where {columns} are needed")
            take(reader.line_num + 1, fields)
        except StopIteration:
            return
        except (csv.Error, ValueError) as error:
            found.malformed.append(Malformed(reader.line_num + 1, str(error)))
        found.lines += 1


def _lanl(first: str, file: Iterable[str], found: _Found) -> None:
    """Read LANL's records (LA-UR-05-7318); local times are read as UTC, which keeps the hour of the day."""

    def take(line: int, fields: list[str]) -> None:
        system = fields[0]
        if not _number(fields[6]) or not _number(fields[2]):
            raise ValueError(f"a failure of system {system} that names no node")
        if len(fields[2]) >= len(str(_MOST_NODES)):
            raise ValueError(f"system {system} of {fields[2][:20]} nodes")
        size, node = int(fields[2]), int(fields[6])
        if node >= size:
            raise ValueError(f"node {node} of system {system}, which has {size}")
        start, end = _lanl_time(fields[16]), _lanl_time(fields[17])
        cause = next((name for name, text in zip(_LANL_CAUSES, fields[19:25], strict=False) if text), "")
        found.systems[system] = max(found.systems.get(system, 0), size)
        if fields[9] != "current":
            found.gone.add(system)
        _add(found, _Row(line, str(node), start, end, cause, system))

    _records(file, found, 26, take)


def _fta(first: str, file: Iterable[str], found: _Found) -> None:
    """Read FTA event traces, tab-separated: unavailable intervals (type 0) of nodes ``system.node``."""

    def take(line: int, fields: list[str]) -> None:
        node, _, name, kind, start, end, reason = (value.strip() for value in fields[2:9])
        if kind == "1":
            return
        try:
            begun, over = float(start), float(end)
            if not math.isfinite(begun) or math.isnan(over):
                raise ValueError
        except ValueError:
            raise ValueError(f"from {start!r} to {end!r}: times are Unix seconds") from None
        if kind != "0" or not _number(node):
            raise ValueError(
                f"node {node!r}, event type {kind!r}: a node is a number, a type 0 (unavailable) or 1"
            )
        system = name.partition(".")[0]
        found.systems.setdefault(system, 0)
        _add(found, _Row(line, node, begun, over, "" if reason == "NULL" else reason, system))

    _records(file, found, 9, take, "\t")


def _mira(first: str, file: Iterable[str], found: _Found) -> None:
    """Read Mira's fatal events by midplane (96 of 512 nodes each); a rack's event hits both midplanes."""
    names = next(csv.reader([first]))
    columns = {name: position for position, name in enumerate(names)}
    at, category = columns["location"], columns["category"]
    begun, over = columns["first_time"], columns["last_time"]

    def take(line: int, fields: list[str]) -> None:
        midplane = _MIDPLANE.match(fields[at])
        rack = _RACK.match(fields[at])
        if midplane:
            units = [(int(midplane[1]) * 16 + int(midplane[2], 16)) * 2 + int(midplane[3])]
        elif rack:
            first_of_two = (int(rack[1]) * 16 + int(rack[2], 16)) * 2
            units = [first_of_two, first_of_two + 1]
        else:
            found.elsewhere["I/O rack" if fields[at].startswith("Q") else "no location"] += 1
            return
        start, end = _iso(fields[begun]), _iso(fields[over])
        for unit in units:
            _add(found, _Row(line, str(unit), start, end, fields[category]))

    _records(file, found, len(names), take)


def _table(first: str, file: Iterable[str], found: _Found) -> None:
    """Read a table node,start,end[,cause] in Unix seconds or ISO 8601; an empty end means still down."""
    columns = len(_names(first))

    def take(line: int, fields: list[str]) -> None:
        if any(value.strip() for value in fields[columns:]):
            raise ValueError(
                f"{len(fields)} fields where {columns} are named; a comma in one has to be quoted"
            )
        node, begun, over = (value.strip() for value in fields[:3])
        cause = fields[3].strip() if len(fields) > 3 else ""
        start, end = _time(begun), _time(over) if over else math.inf
        if not node:
            raise ValueError("no node")
        _add(found, _Row(line, node, start, end, cause))

    _records(file, found, 3, take)


_READERS: dict[str, Callable[[str, Iterable[str], _Found], None]] = {
    "lanl": _lanl,
    "fta": _fta,
    "mira": _mira,
    "csv": _table,
}


def _add(found: _Found, row: _Row) -> None:
    if row.end < row.start:
        back = row.start - row.end
        raise ValueError(f"node {row.node} is back {back:g} s before it failed: its times go back")
    found.rows.append(row)


def _one_system(path: Path, found: _Found, system: str) -> None:
    if system not in found.systems:
        there = ", ".join(_in_order(found.systems)) or "none"
        raise UsageError(f"{path}: no system {system}", hint=f"systems in it: {there}")
    found.rows = [row for row in found.rows if row.system == system]
    found.systems = {system: found.systems[system]}


def _machine(path: Path, found: _Found, told: str, nodes: int | None) -> History:
    """Make a history from the records that were read."""
    if nodes is not None and told != "csv":
        raise UsageError(f"{path}: --nodes is for a plain table; a file of format {told} tells its nodes")
    rows = found.rows
    if not rows:
        return merged(0, 0.0, 0.0, [])
    causes = [row.cause for row in rows] if any(row.cause for row in rows) else []
    begin = min(row.start for row in rows)
    finish = max(row.start if math.isinf(row.end) else row.end for row in rows)
    if found.systems:
        return _of_systems(found, finish, causes)
    if told == "mira":
        names = [f"R{rack // 16}{rack % 16:X}-M{half}" for rack in range(48) for half in (0, 1)]
        failures = [(int(row.node), row.start, row.end) for row in rows]
        history = bursts(merged(len(names), begin, finish, failures, causes), 3600.0)
        return replace(history, names=tuple(names), group=np.arange(len(names), dtype=np.int32) // 2)
    named = _table_nodes(path, rows, nodes)
    index = {name: number for number, name in enumerate(named)}
    failures = [(index[row.node], row.start, row.end) for row in rows]
    history = merged(len(named), begin, finish, failures, causes)
    plain = all(name == str(number) for number, name in enumerate(named))
    return replace(history, names=() if plain else tuple(named))


def _of_systems(found: _Found, finish: float, causes: list[str]) -> History:
    """Put the systems of a file side by side, each in service from its first record on.

    A decommissioned system leaves service after its last record; the other systems stay to the file's end.
    """
    systems = _in_order(found.systems)
    names: list[str] = []
    index: dict[tuple[str, str], int] = {}
    kind, entry, leave = [], [], []
    for number, system in enumerate(systems):
        mine = [row for row in found.rows if row.system == system]
        nodes = _in_order({row.node for row in mine})
        if size := found.systems[system]:
            nodes = [str(node) for node in range(size)]
        for node in nodes:
            index[system, node] = len(names)
            names.append(f"{system}.{node}")
        kind += [number] * len(nodes)
        entry += [min(row.start for row in mine)] * len(nodes)
        leave += [max(row.end for row in mine) if system in found.gone else finish] * len(nodes)
    failures = [(index[row.system, row.node], row.start, row.end) for row in found.rows]
    kinds = np.array(kind, dtype=np.int32)
    history = merged(len(names), min(entry), max(leave), failures, causes)
    history = replace(history, names=tuple(names))
    if len(systems) == 1:
        return history
    return replace(
        history,
        kind=kinds,
        kinds=tuple(systems),
        group=kinds,
        entry=np.array(entry),
        exit=np.array(leave),
    )


def _table_nodes(path: Path, rows: list[_Row], nodes: int | None) -> list[str]:
    """Return the names of a plain table's nodes, in order.

    Raises:
        UsageError: the table has more than ``nodes`` nodes, or a node's number is not below ``nodes``.
    """
    there = _in_order({row.node for row in rows})
    numbers = all(name == "0" or (_number(name) and name[0] != "0") for name in there)
    if numbers and len(there[-1]) >= len(str(_MOST_NODES)):
        line = next(row.line for row in rows if row.node == there[-1])
        raise UsageError(
            f"{path}:{line}: node {there[-1]}: no machine has so many nodes",
            hint=f"numbers are indices from 0, below {_MOST_NODES:,}; another name begins with a letter",
        )
    if nodes is None:
        return [str(node) for node in range(int(there[-1]) + 1)] if numbers else there
    if numbers:
        wrong = next((row for row in rows if int(row.node) >= nodes), None)
        if wrong is not None:
            raise UsageError(
                f"{path}:{wrong.line}: node {wrong.node} is not one of {nodes}",
                hint=f"nodes are 0 to {nodes - 1}; is this the file of another machine?",
            )
        return [str(node) for node in range(nodes)]
    if len(there) > nodes:
        raise UsageError(f"{path}: {len(there)} nodes are named, which is more than {nodes}")
    return there + [f"unnamed-{number}" for number in range(nodes - len(there))]


def _number(text: str) -> bool:
    """Whether a text is a whole number in ASCII digits; str.isdigit() alone accepts other digits also."""
    return text.isascii() and text.isdigit() and len(text) < 19


def _in_order(names: Iterable[str]) -> list[str]:
    return sorted(names, key=lambda name: (len(name), name) if name.isdigit() else (1000, name))


def _lanl_time(text: str) -> float:
    parts = _LANL_TIME.fullmatch(text)
    if not parts:
        raise ValueError(f"time {text!r} is not M/D/YYYY H:MM")
    month, day, year, hour, minute = map(int, parts.groups())
    return datetime(year, month, day, hour, minute, tzinfo=timezone.utc).timestamp()


def _iso(text: str) -> float:
    try:
        time = datetime.fromisoformat(text.strip().replace("Z", "+00:00"))
    except ValueError:
        raise ValueError(f"time {text!r} is not YYYY-MM-DD hh:mm:ss") from None
    return (time if time.tzinfo else time.replace(tzinfo=timezone.utc)).timestamp()


def _time(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        return _iso(text)
    if not math.isfinite(value):
        raise ValueError(f"time {text!r} is not finite")
    return value
