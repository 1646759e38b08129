"""Readers of the two TOML files that describe a machine and its applications for the checkpoint models."""

from __future__ import annotations

import math
from importlib import resources
from itertools import pairwise
from pathlib import Path
from typing import Annotated

import msgspec

from whesl.files import toml
from whesl.files.toml import Document

_HINT = "`whesl lab ckpt --example system` and `--example apps` print both files"


Name = Annotated[str, msgspec.Meta(min_length=1)]
Count = Annotated[int, msgspec.Meta(ge=1)]
Above = Annotated[float, msgspec.Meta(gt=0)]
FromZero = Annotated[float, msgspec.Meta(ge=0)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Axis = Annotated[tuple[FromZero, ...], msgspec.Meta(min_length=2)]


class Application(msgspec.Struct, frozen=True):
    """An application.

    Attributes:
        name: the application's name.
        nodes: number of nodes.
        checkpoint_gb: size of one checkpoint of all nodes, in GB.
        hours: computing time without any overhead, in hours.
    """

    name: Name
    nodes: Count
    checkpoint_gb: Above
    hours: Above

    @property
    def node_gb(self) -> float:
        """Return the size of one node's part of a checkpoint, in GB."""
        return self.checkpoint_gb / self.nodes


class Failures(msgspec.Struct, frozen=True):
    """Times between failures anywhere in a machine: a Weibull distribution.

    Attributes:
        name: name of the machine that the distribution was measured on.
        nodes: that machine's number of nodes.
        shape: the distribution's shape.
        scale_hours: the distribution's scale, in hours.
    """

    name: Name
    nodes: Count
    shape: Annotated[float, msgspec.Meta(ge=0.05, le=20)]
    scale_hours: Above

    @property
    def mean_hours(self) -> float:
        """Return the mean time between failures anywhere, in hours."""
        return self.scale_hours * math.gamma(1.0 + 1.0 / self.shape)


class Leads(msgspec.Struct, frozen=True):
    """Distribution of lead times: the share longer than each of ``seconds``, linear in between."""

    seconds: Axis
    share: Axis


class _System(msgspec.Struct, frozen=True):
    name: Name
    nodes: Count
    dram_gb: Above


class _BurstBuffer(msgspec.Struct, frozen=True):
    write_gb_per_s: Above
    read_gb_per_s: Above
    capacity_gb: Above


class _Migration(msgspec.Struct, frozen=True):
    gb_per_s: Above
    factor: Annotated[float, msgspec.Meta(ge=0.01)]
    runtime_share: Share


class _FileSystem(msgspec.Struct, frozen=True):
    node_gb_per_s: Above
    drain_nodes: Count
    nodes: Axis
    gb_per_node: Axis
    gb_per_s: tuple[tuple[Above, ...], ...]


class _Prediction(msgspec.Struct, frozen=True):
    recall: Share
    false_positives: Annotated[float, msgspec.Meta(ge=0, le=0.99)]


class Machine(msgspec.Struct, frozen=True):
    """A machine with burst buffers on its nodes and a parallel file system. Sizes in GB, speeds in GB/s."""

    system: _System
    burst_buffer: _BurstBuffer
    migration: _Migration
    parallel_file_system: _FileSystem
    prediction: _Prediction
    lead_times: Leads
    failures: tuple[Failures, ...]

    @property
    def name(self) -> str:
        """Return the machine's name."""
        return self.system.name

    @property
    def recall(self) -> float:
        """Return the share of failures that are predicted."""
        return self.prediction.recall

    @property
    def leads(self) -> Leads:
        """Return the distribution of lead times."""
        return self.lead_times

    def aggregate(self, nodes: int, node_gb: float) -> float:
        """Return the total bandwidth of nodes that write at once, in GB/s, interpolated on logarithmic axes.

        Args:
            nodes: number of nodes that write.
            node_gb: data that each node writes, in GB.
        """
        files = self.parallel_file_system
        row, high = _between(files.nodes, nodes)
        column, wide = _between(files.gb_per_node, node_gb)
        corner = [
            [math.log(files.gb_per_s[row + down][column + right]) for right in (0, 1)] for down in (0, 1)
        ]
        upper = corner[0][0] * (1 - wide) + corner[0][1] * wide
        lower = corner[1][0] * (1 - wide) + corner[1][1] * wide
        return math.exp(upper * (1 - high) + lower * high)


def _between(axis: tuple[float, ...], value: float) -> tuple[int, float]:
    """Return the axis interval that holds a value, and the value's position in it from 0 to 1, clipped.

    Args:
        axis: ascending points.
        value: the value.
    """
    bounded = min(max(value, axis[0]), axis[-1])
    index = next((i for i in range(len(axis) - 2) if bounded < axis[i + 1]), len(axis) - 2)
    low, high = math.log(axis[index]), math.log(axis[index + 1])
    return index, (math.log(bounded) - low) / (high - low)


class _CodesFile(msgspec.Struct, frozen=True):
    application: tuple[Application, ...]


def _machine(document: Document) -> Machine:
    found = document.whole(Machine)
    files, leads = found.parallel_file_system, found.lead_times
    for table, key, values in (
        ("parallel_file_system", "nodes", files.nodes),
        ("parallel_file_system", "gb_per_node", files.gb_per_node),
        ("lead_times", "seconds", leads.seconds),
    ):
        if any(after <= before for before, after in pairwise(values)):
            document.wrong(f"{key} has to rise from item to item", table, key=key)
    if [len(row) for row in files.gb_per_s] != [len(files.gb_per_node)] * len(files.nodes):
        said = f"gb_per_s needs {len(files.nodes)} rows of {len(files.gb_per_node)} speeds"
        document.wrong(said, "parallel_file_system", key="gb_per_s")
    if len(leads.seconds) != len(leads.share):
        document.wrong("seconds and share have to be of one length", "lead_times", key="share")
    if any(after > before for before, after in pairwise(leads.share)):
        document.wrong("share must not rise from item to item", "lead_times", key="share")
    if leads.seconds[0] != 0 or leads.share[0] > 1 or leads.share[-1] != 0:
        document.wrong("seconds begin with 0, share is at most 1 and ends with 0", "lead_times")
    if not found.failures:
        document.wrong("at least one [[failures]] is needed")
    document.check()
    return found


def _applications(document: Document, machine: Machine) -> tuple[Application, ...]:
    found = document.whole(_CodesFile).application
    names: set[str] = set()
    most = ((machine.system.dram_gb, "memory"), (machine.burst_buffer.capacity_gb, "burst buffer"))
    for number, application in enumerate(found):
        said = []
        if application.nodes > machine.system.nodes:
            said += [f"{application.nodes} nodes; {machine.name} has {machine.system.nodes}"]
        for limit, what in most:
            if application.node_gb > limit:
                said += [f"{application.node_gb:.1f} GB a node; its {what} has {limit:g}"]
        if application.name in names:
            said += [f"two applications have the same name, {application.name!r}"]
        for message in said:
            document.wrong(message, "application", number)
        names.add(application.name)
    if not found:
        document.wrong("at least one [[application]] is needed")
    document.check()
    return found


def shipped(name: str) -> str:
    """Return the text of a file of the package, ``summit.toml`` or ``apps.toml``."""
    return (resources.files("whesl.lab.simulators.checkpoints") / "data" / name).read_text()


def load(system: Path | None, apps: Path | None) -> tuple[Machine, tuple[Application, ...]]:
    """Read a machine and its applications.

    Args:
        system: the machine's file; None for the package's ``summit.toml``.
        apps: the applications' file; None for the package's ``apps.toml``.

    Raises:
        UsageError: a file cannot be read, or is wrong.
    """
    first, second = (
        Document(name, shipped(name), _HINT) if path is None else toml.load(path, _HINT)
        for path, name in ((system, "summit.toml"), (apps, "apps.toml"))
    )
    machine = _machine(first)
    return machine, _applications(second, machine)
