"""Changes that Slurm refuses: they are told as refused, and count as made only when they are made."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.placement.site.test_at_risk import NOW, Rates, table
from whesl.managers.resource.slurm.command import DeniedError
from whesl.placement.site.publish.core.node_changes import Settings
from whesl.placement.site.publish.node_change_records import Changing
from whesl.placement.site.publish.observed_node import Node
from whesl.placement.site.slurm.node_and_job_updates import Machine
from whesl.placement.site.slurm.placement_service import STATUS, Service
from whesl.placement.site.slurm.placement_status import Status

BAD = "n0"


class Slurm:
    """A machine of twenty nodes that takes changes, or refuses them as it does an operator's."""

    def __init__(self) -> None:
        self.refuses = True
        self.draw: random.Random | None = None  # says of each change whether it is refused
        self.node = {f"n{at}": self._plain(f"n{at}") for at in range(20)}

    @staticmethod
    def _plain(name: str) -> Node:
        return Node(name=name, flags=frozenset({"idle"}), partitions=("p",), weight=1)

    def nodes(self) -> Machine:
        return Machine(tuple(self.node.values()), "p")

    def jobs(self) -> list[Any]:
        return []

    def weigh(self, nodes: list[str], weight: int) -> None:
        self._changed(nodes, weight=weight)

    def perform(self, command: Any) -> bool:
        self._changed([command.node], features=command.available, active_features=command.active)
        return True

    def _changed(self, nodes: list[str], **changes: Any) -> None:
        if self.refuses if self.draw is None else self.draw.random() < 0.5:
            raise DeniedError("Invalid user id")
        for name in nodes:
            self.node[name] = msgspec.structs.replace(self.node[name], **changes)


class Known:
    """Predictions: one node is clearly worse than the others."""

    problem = ""

    def refresh(self) -> None:
        pass

    def table(self, *_: object, **__: object) -> Any:
        return table(Rates([1.0] + [0.01] * 19, 0.3))


def status(directory: Path) -> Status:
    return msgspec.json.decode((directory / STATUS).read_bytes(), type=Status)


def explored(place: Path) -> None:
    """Have Slurm refuse any of the changes, and compare what the service says with what was done."""
    for seed in range(12):
        slurm = Slurm()
        slurm.draw = random.Random(seed)  # of a test
        directory = place / str(seed)
        how = Settings(active=True, drain_above=2.0, share=slurm.draw.choice((0.02, 0.2)))
        known: Any = Known()
        service = Service(directory, slurm, known, how, period=60.0, clock=lambda: NOW)  # type: ignore[arg-type]
        with service:
            for _ in range(4):
                service.look()
                told, node = status(directory), slurm.node[BAD]
                made = {name for name, is_so in _made(node).items() if is_so}
                assert {what for _, what, _ in told.held} == made, "held is what was made"
                wanted = {"weight", "feature"}
                assert {what for _, what, _ in told.refused} == wanted - made, "what is missing was refused"
                counted = {name for name in wanted if told.figures.get(f"{name} made", 0)}
                assert counted == made, "the metric counts what was made"


def _made(node: Node) -> dict[str, bool]:
    return {"weight": node.weight != 1, "feature": bool(node.features)}


def test_whatever_is_refused_is_told_and_nothing_else(tmp_path: Path) -> None:
    explored(tmp_path)


def _taken(self: Service, what: str, error: Exception, command: object = None) -> None:
    """A refusal is a line in the log, and no more."""


_write = Service._write


def _counted(self: Service, records: Any) -> None:
    _write(self, records)
    for record in records:
        if isinstance(record, Changing):
            self.figures.changed(record.change.what)


@pytest.mark.parametrize(("name", "wrong"), [("_failed", _taken), ("_write", _counted)])
def test_a_refusal_that_counts_as_done_is_found(
    name: str, wrong: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Service, name, wrong)
    with pytest.raises(AssertionError):
        explored(tmp_path)


@pytest.mark.parametrize("later", [True, False])
def test_a_refused_change_is_no_change(tmp_path: Path, later: bool) -> None:
    slurm = Slurm()
    service = Service(
        tmp_path,
        slurm,  # type: ignore[arg-type]  # it stands for Slurm
        Known(),  # type: ignore[arg-type]  # likewise
        Settings(active=True, drain_above=2.0),
        period=60.0,
        clock=lambda: NOW,
    )
    with service:
        for _ in range(3):
            assert not service.look()
        told = status(tmp_path)
        assert told.held == ()
        assert {one[:2] for one in told.refused} == {(BAD, "weight"), (BAD, "feature")}
        assert {one[2] for one in told.refused} == {"Invalid user id"}
        assert not [name for name in told.figures if name.endswith(" made") and told.figures[name]]
        slurm.refuses = not later
        if later:
            assert service.look()
            told = status(tmp_path)
            assert {one[:2] for one in told.held} == {(BAD, "weight"), (BAD, "feature")}
            assert told.refused == ()
            assert (told.figures["weight made"], told.figures["feature made"]) == (1, 1)
            assert service.look()
            assert status(tmp_path).figures["weight made"] == 1
        service.leave()
        told = status(tmp_path)
        assert (told.held, told.refused) == ((), ())
        assert told.figures.get("weight released", 0) == int(later)
    assert slurm.node[BAD] == Slurm._plain(BAD)
