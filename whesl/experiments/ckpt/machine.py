"""The machine and the applications that a checkpoint model runs on, as two TOML files describe them."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import resources
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from whesl.model.errors import UsageError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Application:
    """One code.

    Attributes:
        name: of the code.
        nodes: that it runs on.
        checkpoint_gb: size of one checkpoint of all nodes, in GB.
        hours: of computing, without any overhead.
    """

    name: str
    nodes: int
    checkpoint_gb: float
    hours: float

    @property
    def node_gb(self) -> float:
        """Return the size of one node's part, in GB."""
        return self.checkpoint_gb / self.nodes


@dataclass(frozen=True, slots=True)
class Failures:
    """Times between failures anywhere in a machine: a Weibull distribution.

    Attributes:
        name: of the machine.
        nodes: that it has.
        shape: of the distribution.
        scale_hours: of the distribution, in hours.
    """

    name: str
    nodes: int
    shape: float
    scale_hours: float

    @property
    def mean_hours(self) -> float:
        """Return the mean time between failures anywhere, in hours."""
        return self.scale_hours * math.gamma(1.0 + 1.0 / self.shape)


@dataclass(frozen=True, slots=True)
class Leads:
    """The distribution of lead times: ``share`` of them is longer than ``seconds``, linear between the
    points."""

    seconds: tuple[float, ...]
    share: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine with burst buffers on its nodes and a parallel file system. Sizes in GB, speeds in GB/s."""

    name: str
    nodes: int
    dram_gb: float
    buffer_write: float
    buffer_read: float
    buffer_gb: float
    migration_gb_per_s: float
    migration_factor: float
    migration_share: float
    node_gb_per_s: float
    drain_nodes: int
    matrix_nodes: tuple[float, ...]
    matrix_gb: tuple[float, ...]
    matrix: tuple[tuple[float, ...], ...]
    recall: float
    false_positives: float
    leads: Leads
    failures: tuple[Failures, ...]

    def aggregate(self, nodes: int, node_gb: float) -> float:
        """Return the bandwidth of some nodes that write at once, in GB/s, interpolated on logarithmic axes.

        Args:
            nodes: how many write.
            node_gb: what each of them writes, in GB.
        """
        row, high = _between(self.matrix_nodes, nodes)
        column, wide = _between(self.matrix_gb, node_gb)
        corner = [[math.log(self.matrix[row + down][column + right]) for right in (0, 1)] for down in (0, 1)]
        upper = corner[0][0] * (1 - wide) + corner[0][1] * wide
        lower = corner[1][0] * (1 - wide) + corner[1][1] * wide
        return math.exp(upper * (1 - high) + lower * high)


def _between(axis: tuple[float, ...], value: float) -> tuple[int, float]:
    """Return the interval of an axis that a value is in, and how far in it lies; beyond the ends, the
    ends."""
    bounded = min(max(value, axis[0]), axis[-1])
    index = next((i for i in range(len(axis) - 2) if bounded < axis[i + 1]), len(axis) - 2)
    low, high = math.log(axis[index]), math.log(axis[index + 1])
    return index, (math.log(bounded) - low) / (high - low)


class _Reader:
    """Reads a table and collects everything that is wrong with it."""

    def __init__(self, text: str, where: str) -> None:
        self.where = where
        self.wrong: list[str] = []
        try:
            self.data: dict[str, Any] = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise UsageError(f"{where}: {error}", hint="the file has to be TOML") from None

    def tables(self, name: str) -> list[dict[str, Any]]:
        found = self.data.get(name)
        if not isinstance(found, list) or not found or not all(isinstance(item, dict) for item in found):
            self.wrong.append(f"[[{name}]] is missing: at least one is needed")
            return []
        return found

    def known(self, table: dict[str, Any], place: str, allowed: set[str]) -> None:
        for key in table.keys() - allowed:
            close = get_close_matches(key, allowed, 1)
            meant = f"; {close[0]!r} is meant?" if close else f"; known are {', '.join(sorted(allowed))}"
            self.wrong.append(f"{place}: {key!r} is unknown{meant}")

    def table(self, name: str, allowed: set[str]) -> dict[str, Any]:
        found = self.data.get(name)
        if not isinstance(found, dict):
            self.wrong.append(f"[{name}] is missing")
            return {}
        self.known(found, f"[{name}]", allowed)
        return found

    def text(self, table: dict[str, Any], place: str, key: str) -> str:
        value = table.get(key)
        if not isinstance(value, str) or not value:
            self.wrong.append(f"{place}: {key} is to be a name, not {value!r}")
            return "?"
        return value

    def number(
        self, table: dict[str, Any], place: str, key: str, *, least: float = 0.0, most: float = math.inf
    ) -> float:
        value = table.get(key)
        real = isinstance(value, (int, float)) and not isinstance(value, bool)
        if key not in table:
            self.wrong.append(f"{place}: {key} is missing")
        elif not real or not least <= float(value) <= most or not math.isfinite(float(value)):  # type: ignore[arg-type] # real says that it is a number
            above = f"from {least:g} to {most:g}" if most < math.inf else f"{least:g} or more"
            self.wrong.append(f"{place}: {key} is {value!r}; it has to be a number {above}")
        else:
            return float(value)  # type: ignore[arg-type] # as above
        return 1.0

    def numbers(self, table: dict[str, Any], place: str, key: str) -> tuple[float, ...]:
        value = table.get(key)
        if not isinstance(value, list) or len(value) < 2:
            self.wrong.append(f"{place}: {key} is to be a list of two numbers or more")
            return (1.0, 2.0)
        return tuple(
            self.number({key: item}, f"{place}, item {number}", key) for number, item in enumerate(value, 1)
        )

    def raise_errors(self) -> None:
        if self.wrong:
            raise UsageError("\n".join(f"{self.where}: {line}" for line in self.wrong))


def _ascending(reader: _Reader, place: str, key: str, values: tuple[float, ...]) -> None:
    if any(after <= before for before, after in pairwise(values)):
        reader.wrong.append(f"{place}: {key} has to rise from item to item")


TINY = 1e-9  # what has to be above zero


def parse_machine(text: str, where: str) -> Machine:
    """Read a machine.

    Args:
        text: the TOML file's text.
        where: its name, for errors.

    Raises:
        UsageError: with everything that is wrong in the file.
    """
    reader = _Reader(text, where)
    known = {
        "system": {"name", "nodes", "dram_gb"},
        "burst_buffer": {"write_gb_per_s", "read_gb_per_s", "capacity_gb"},
        "migration": {"gb_per_s", "factor", "runtime_share"},
        "parallel_file_system": {"node_gb_per_s", "drain_nodes", "nodes", "gb_per_node", "gb_per_s"},
        "prediction": {"recall", "false_positives"},
        "lead_times": {"seconds", "share"},
    }
    reader.known(reader.data, "the file", {*known, "failures"})
    tables = {name: reader.table(name, keys) for name, keys in known.items()}

    def number(name: str, key: str, least: float = TINY, most: float = math.inf) -> float:
        return reader.number(tables[name], f"[{name}]", key, least=least, most=most)

    files = tables["parallel_file_system"]
    place = "[parallel_file_system]"
    rows, columns = reader.numbers(files, place, "nodes"), reader.numbers(files, place, "gb_per_node")
    _ascending(reader, place, "nodes", rows)
    _ascending(reader, place, "gb_per_node", columns)
    matrix = []
    given = files.get("gb_per_s")
    if not isinstance(given, list) or len(given) != len(rows):
        reader.wrong.append(f"{place}: gb_per_s needs {len(rows)} rows, one for each of nodes")
    else:
        for index, row in enumerate(given, 1):
            speeds = reader.numbers({"gb_per_s": row}, f"{place}, row {index}", "gb_per_s")
            if len(speeds) != len(columns) or min(speeds) <= 0:
                reader.wrong.append(f"{place}, row {index}: {len(columns)} speeds above 0 are needed")
            matrix.append(speeds)
    leads = Leads(
        reader.numbers(tables["lead_times"], "[lead_times]", "seconds"),
        reader.numbers(tables["lead_times"], "[lead_times]", "share"),
    )
    if len(leads.seconds) != len(leads.share):
        reader.wrong.append("[lead_times]: seconds and share have to be of one length")
    _ascending(reader, "[lead_times]", "seconds", leads.seconds)
    if any(after > before for before, after in pairwise(leads.share)):
        reader.wrong.append("[lead_times]: share must not rise from item to item")
    if leads.seconds[0] != 0 or leads.share[0] > 1 or leads.share[-1] != 0:
        reader.wrong.append("[lead_times]: seconds begin with 0, share is at most 1 and ends with 0")
    failures = []
    for index, table in enumerate(reader.tables("failures"), 1):
        spot = f"[[failures]] {index}"
        reader.known(table, spot, {"name", "nodes", "shape", "scale_hours"})
        failures.append(
            Failures(
                reader.text(table, spot, "name"),
                int(reader.number(table, spot, "nodes", least=1)),
                reader.number(table, spot, "shape", least=0.05, most=20),
                reader.number(table, spot, "scale_hours", least=TINY),
            )
        )
    machine = Machine(
        reader.text(tables["system"], "[system]", "name"),
        int(number("system", "nodes", 1)),
        number("system", "dram_gb"),
        number("burst_buffer", "write_gb_per_s"),
        number("burst_buffer", "read_gb_per_s"),
        number("burst_buffer", "capacity_gb"),
        number("migration", "gb_per_s"),
        number("migration", "factor", 0.01),
        number("migration", "runtime_share", 0, 1),
        number("parallel_file_system", "node_gb_per_s"),
        int(number("parallel_file_system", "drain_nodes", 1)),
        rows,
        columns,
        tuple(matrix),
        number("prediction", "recall", 0, 1),
        number("prediction", "false_positives", 0, 0.99),
        leads,
        tuple(failures),
    )
    reader.raise_errors()
    return machine


def parse_applications(text: str, where: str, machine: Machine) -> tuple[Application, ...]:
    """Read the applications that are to run on a machine.

    Args:
        text: the TOML file's text.
        where: its name, for errors.
        machine: that they run on.

    Raises:
        UsageError: with everything that is wrong in the file, and with every code that does not fit the
            machine.
    """
    reader = _Reader(text, where)
    reader.known(reader.data, "the file", {"application"})
    found = []
    for index, table in enumerate(reader.tables("application"), 1):
        spot = f"[[application]] {index}"
        reader.known(table, spot, {"name", "nodes", "checkpoint_gb", "hours"})
        application = Application(
            reader.text(table, spot, "name"),
            int(reader.number(table, spot, "nodes", least=1)),
            reader.number(table, spot, "checkpoint_gb", least=TINY),
            reader.number(table, spot, "hours", least=TINY),
        )
        if application.nodes > machine.nodes:
            reader.wrong.append(f"{spot}: {application.nodes} nodes; {machine.name} has {machine.nodes}")
        for limit, what in ((machine.dram_gb, "memory"), (machine.buffer_gb, "burst buffer")):
            if application.node_gb > limit:
                reader.wrong.append(f"{spot}: {application.node_gb:.1f} GB a node; its {what} has {limit:g}")
        found.append(application)
    if len({application.name for application in found}) < len(found):
        reader.wrong.append("two applications have the same name")
    reader.raise_errors()
    return tuple(found)


def shipped(name: str) -> str:
    """Return the text of a file that comes with the package, ``summit.toml`` or ``apps.toml``."""
    return (resources.files("whesl.experiments.ckpt") / "data" / name).read_text()


def load(system: Path | None, apps: Path | None) -> tuple[Machine, tuple[Application, ...]]:
    """Read a machine and its applications; the shipped ones where no file is named.

    Raises:
        UsageError: a file cannot be read, or is wrong.
    """
    texts = []
    for path, name in ((system, "summit.toml"), (apps, "apps.toml")):
        if path is None:
            texts.append((shipped(name), name))
            continue
        try:
            texts.append((path.read_text(), str(path)))
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"{path}: {error}", hint="name a TOML file that can be read") from None
    machine = parse_machine(*texts[0])
    return machine, parse_applications(*texts[1], machine)


def scaled_gb(old_gb: float, old_nodes: int, old_dram: float, nodes: int, dram: float) -> float:
    """Return a checkpoint's size on another machine, equation (2.3) of document 003; all sizes in GB."""
    return old_gb * nodes * dram / (old_nodes * old_dram)
